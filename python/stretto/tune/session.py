# SPDX-License-Identifier: Apache-2.0
"""One run of `stretto tune`: the job, the journal, a search for each kind of call, and the table."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from stretto import _core
from stretto.bench.job import MeasuringJob, Ready, measuring_job
from stretto.bench.targets import Target
from stretto.model.walker import Call, Model, load_machine
from stretto.results.runs import EndedError
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError
from stretto.support.files import write_atomically
from stretto.support.machine_load import LoadWatch
from stretto.tune.bench import JobBench, request
from stretto.tune.candidates import Candidates
from stretto.tune.findings import CallKind, Choice, Findings
from stretto.tune.journal import Fingerprint, Journal, Recorded, read_journal
from stretto.tune.launches import Launches
from stretto.tune.modelled import modelled_shapes
from stretto.tune.search import Search, TooShortError
from stretto.tune.table import Json, Shape, Tuned, merged, read_old, table_text
from stretto.tune.times import Predict, no_prediction

# The share of a call's time for the audition, if each of the library's own algorithms needs its own job.
_AUDITION_SHARE = 0.25
_AUDITION_MOST_BYTES = 1 << 20
_AUDITIONED = 2  # algorithms that become candidates at a size


@dataclass(frozen=True)
class Settings:
    """The settings of a tuning."""

    kinds: list[CallKind]
    sizes: list[int]
    budget: float
    """Seconds."""
    element: str
    network: str
    machine: str | None
    output: Path | None
    resume: bool


class Display(Protocol):
    """Shows how far a tuning has come."""

    def advance(self) -> None:
        """Show that time has passed."""

    def report(self, text: str) -> None:
        """Show the current measurement."""

    def say(self, text: str) -> None:
        """Print a line that stays."""


class Tuning:
    """One run of `stretto tune`. Its attributes hold the results once run() has ended."""

    def __init__(self, settings: Settings, target: Target, display: Display) -> None:
        self.settings = settings
        self.target = target
        self.ready: Ready
        self.path: Path
        self.findings: dict[str, Findings] = {}
        self.remarks: list[str] = []
        self.failure: StrettoError | None = None
        """The error that ended the tuning early, whether or not something was written."""
        self._display = display
        self._begin = time.monotonic()
        self._watch = LoadWatch()
        self._jobs = contextlib.ExitStack()

    def run(self) -> None:
        """Measure, and write the table. If interrupted, write the choices so far."""
        forms = list(dict.fromkeys(kind.form for kind in self.settings.kinds))
        with self._jobs, contextlib.ExitStack() as launched:
            job = self._jobs.enter_context(self._start(forms, {}))
            self.ready = job.ready
            family, mpi = _identify(job.ready.library)
            self.path = self._find_path(family)
            old, why_not = read_old(self.path, mpi, self.settings.network)
            journal, recorded = self._open_journal(mpi)
            launches = Launches(functools.partial(self._start, forms), self._ask, launched)
            bench = JobBench(
                job, journal, self._begin, self._display.advance,
                launches if job.ready.by_launch else None, recorded.suspects,
            )  # fmt: skip
            self.remarks += [
                f"{one} was left out: the job ended when it was first tried" for one in recorded.suspects
            ]
            finished = False
            try:
                finished = self._search_all(bench, journal, recorded, launches)
            finally:
                self.remarks += bench.remarks
                self._write(mpi, old, why_not)
                journal.close(remove=finished)

    def has_choices(self) -> bool:
        """Whether a choice was made, so that there is a table to write."""
        return any(found.choices for found in self.findings.values())

    def elapsed(self) -> float:
        """Returns the seconds since the tuning began."""
        return time.monotonic() - self._begin

    # The searches

    def _search_all(self, bench: JobBench, journal: Journal, recorded: Recorded, launches: Launches) -> bool:
        """Search for each kind of call. Returns whether all searches were completed."""
        kinds = self.settings.kinds
        for at, kind in enumerate(kinds):
            left = self.settings.budget - bench.elapsed()
            until = bench.elapsed() + left / (len(kinds) - at)
            self.findings[kind.name] = recorded.findings.get(kind.name, Findings())
            search = self._search(bench, journal, recorded, launches, kind, until)
            try:
                search.run(self.settings.sizes)
            except TooShortError as error:
                # Another kind of call may have choices.
                if not self.has_choices():
                    self.failure = StrettoError(f"{error}; nothing was written")
                    return True
                self.remarks.append(str(error))
            except EndedError as error:
                kept = "the table has what was decided so far, and " if self.has_choices() else ""
                self.failure = StrettoError(f"{error}; {kept}stretto tune continues from {journal.path}")
                return False
        return True

    def _search(
        self,
        bench: JobBench,
        journal: Journal,
        recorded: Recorded,
        launches: Launches,
        kind: CallKind,
        until: float,
    ) -> Search:
        names = self.ready.names_of(kind.collective, kind.form)
        topology = "ppn=" + "+".join(map(str, self.ready.ppn))
        has_library = self.target.has_library
        everywhere = Candidates(
            kind.collective, topology, () if self.ready.by_launch else names, cuts_native=has_library
        )
        candidates: Callable[[int], list[str]] = everywhere.all
        rule = functools.partial(_core.choose, kind.name, topology=parse_topology(topology))
        if self.ready.by_launch and names:
            by_size = self._audition(bench, launches, kind, names, until)

            def candidates(size: int) -> list[str]:
                return replace(everywhere, library=_nearest(by_size, size)[:_AUDITIONED]).all(size)

        if not has_library:
            # All candidates are compared with the rule's spec.
            def candidates(size: int) -> list[str]:
                return [spec for spec in everywhere.all(size) if spec != rule(size)]

        return Search(
            bench, kind,
            candidates=candidates, variants=everywhere.variants, until=until,
            rule=rule if has_library else lambda _size: NATIVE,
            predict=self._prediction(topology), report=self._display.report,
            chosen=lambda choice: journal.chosen(kind.name, choice),
            findings=self.findings[kind.name], times=recorded.times.get(kind.name),
            library_apart=self.ready.by_launch,
        )  # fmt: skip

    def _audition(
        self, bench: JobBench, launches: Launches, kind: CallKind, names: list[str], until: float
    ) -> dict[int, list[str]]:
        all_sizes = self.settings.sizes
        sizes = [size for size in all_sizes if size <= _AUDITION_MOST_BYTES] or all_sizes[:1]
        end = bench.elapsed() + _AUDITION_SHARE * (until - bench.elapsed())
        # Every other size is enough.
        return launches.audition(
            kind, names, sizes[::-2], lambda: bench.elapsed() < end, self._display.report
        )

    @functools.cached_property
    def _model(self) -> Model | None:
        machine = self.settings.machine
        return Model(load_machine(machine)) if machine is not None else None

    def _prediction(self, topology: str) -> Predict:
        model = self._model
        if model is None:
            return no_prediction

        @functools.cache
        def predict(collective: str, spec: str, size: int) -> float | None:
            # The model has no schedules of the MPI library's own algorithms.
            if spec.startswith(NATIVE):
                return None
            return model.predict(Call(collective, size, topology), spec).seconds

        return predict

    # The job and its files

    def _start(
        self, forms: list[str], variables: Mapping[str, str]
    ) -> contextlib.AbstractContextManager[MeasuringJob]:
        return measuring_job(self.target, forms, self.settings.element, variables)

    def _ask(
        self, job: MeasuringJob, kind: CallKind, size: int, specs: Sequence[str], repetitions: int
    ) -> dict[str, list[float]]:
        words = request(kind, size, specs, repetitions, 20.0, 1)
        run = job.ask(words, 120.0, lambda _done, _total: self._display.advance())
        return {series.spec: series.seconds for series in run.series if series.correct}

    def _find_path(self, family: str) -> Path:
        if self.settings.output is not None:
            return self.settings.output.absolute()
        path = _core.default_table_path(family)
        if not path:
            raise StrettoError(
                "the table has no default place: HOME is not a folder, and XDG_CONFIG_HOME is not set; "
                "give --output"
            )
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StrettoError(
                f"{Path(path).parent} cannot be created: {error.strerror}; give --output"
            ) from None
        return Path(path)

    def _open_journal(self, mpi: str) -> tuple[Journal, Recorded]:
        path = self.path.with_name(self.path.name + ".journal")
        fingerprint: Fingerprint = {
            "mpi": mpi,
            "ppn": self.ready.ppn,
            "network": self.settings.network,
            "type": self.settings.element,
            "stretto": self.ready.stretto,
        }
        recorded = read_journal(path) if self.settings.resume else None
        if recorded is not None and recorded.fingerprint != fingerprint:
            different = [key for key, value in fingerprint.items() if recorded.fingerprint.get(key) != value]
            self._display.say(
                f"{path} belongs to another tuning ({', '.join(different)} differ): starting anew"
            )
            recorded = None
        if recorded is None:
            return Journal(path, fingerprint, keeps=False), Recorded()
        self._display.say(f"continuing from {path}: {recorded.sizes} sizes are decided")
        return Journal(path, fingerprint, keeps=True), recorded

    def _write(self, mpi: str, old: Json | None, why_not: str) -> None:
        for found in self.findings.values():
            self.remarks += [remark for remark in found.remarks if remark not in self.remarks]
        if not self.has_choices():
            return
        if why_not:
            kept = self.path.with_name(self.path.name + ".old")
            self.path.replace(kept)
            self._display.say(f"{why_not}: it was renamed to {kept}")
        on_this_node = self.ready.nodes == 1 or self.target.links is not None
        load = self._watch.look(self.ready.ranks if on_this_node else None)
        self.remarks += load.remarks()
        about = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "stretto": self.ready.stretto,
            "type": self.settings.element,
            "budget": self.settings.budget,
            "load": load.to_json(),
        }
        choices = {call: self._with_rule(call, found.sorted()) for call, found in self.findings.items()}
        shape = Shape.of(self.ready.ppn)
        tuned = Tuned(
            mpi, self.settings.network, shape, choices, self.remarks, about,
            by_launch=self.ready.by_launch, sizes=self.settings.sizes,
            modelled=self._modelled(shape, choices),
        )  # fmt: skip
        text = table_text(merged(tuned, old))
        _core.read_table(text)  # a table that Stretto's library cannot read is never written
        write_atomically(self.path, text)

    def _with_rule(self, call: str, choices: list[Choice]) -> list[Choice]:
        """Returns the choices, with the rule's spec in place of `native` if there is no MPI library."""
        if self.target.has_library:
            return choices
        where = parse_topology("ppn=" + "+".join(map(str, self.ready.ppn)))
        return [
            replace(one, spec=_core.choose(call, one.size, where, has_library=False))
            if one.spec == NATIVE
            else one
            for one in choices
        ]

    def _modelled(self, shape: Shape, choices: Mapping[str, list[Choice]]) -> list[Json]:
        if self._model is None or not self.target.has_library:
            return []
        return modelled_shapes(self._model, shape, self.settings.kinds, choices)


def _identify(library: str) -> tuple[str, str]:
    """Returns the family and the name of the MPI library."""
    known = _core.parse_library_name(library)
    if known is None:
        raise StrettoError(f"{library}: tables are for Open MPI, MPICH and Intel MPI")
    return known


def _nearest(by_size: Mapping[int, list[str]], size: int) -> list[str]:
    """Returns the algorithms found at the nearest size."""
    return by_size[min(by_size, key=lambda one: abs(one.bit_length() - size.bit_length()))]
