# SPDX-License-Identifier: Apache-2.0
"""`stretto tune`: measure a cluster within a given time, and write down which spec is best at which size."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from stretto import _core
from stretto.bench.job import MeasuringJob, Ready, measuring_job
from stretto.bench.options import ElementType
from stretto.bench.targets import Place, Target, find_target
from stretto.cli.options import (
    Element,
    LabName,
    LabPpn,
    LauncherLine,
    LinkRate,
    MpiName,
    OnLab,
    Provider,
    Ranks,
)
from stretto.launch.lab import DEFAULT_NAME
from stretto.model.walker import Call, Model, load_machine
from stretto.results.runs import BLOCKING, FORMS, EndedError
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.spec.native import NATIVE
from stretto.spec.recipes import check_collective
from stretto.spec.topologies import parse_topology
from stretto.support.console import Bar, console_for
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_atomically
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.machine_load import LoadWatch
from stretto.support.units import (
    format_bytes,
    format_rate,
    format_seconds,
    parse_rate,
    parse_seconds,
    parse_sizes,
    seconds_unit,
    three_digits,
)
from stretto.tune.bench import JobBench, request
from stretto.tune.candidates import Candidates
from stretto.tune.findings import CallKind, Choice, Findings
from stretto.tune.journal import Fingerprint, Journal, Recorded, read_journal
from stretto.tune.launches import Launches
from stretto.tune.modelled import modelled_shapes
from stretto.tune.search import Search, TooShortError
from stretto.tune.table import (
    Json,
    Shape,
    Tuned,
    geometric_mean_gain,
    merged,
    read_old,
    rule_text,
    table_text,
)
from stretto.tune.times import Predict, no_prediction

_MEAN_FROM, _MEAN_TO = 256 << 10, 16 << 20
# Of the time for a kind of call, where each of the library's own algorithms needs a job of its own.
_AUDITION = 0.25
_AUDITION_MOST_BYTES = 1 << 20
_AUDITIONED = 2  # that are candidates at a size


@dataclass(frozen=True)
class Wanted:
    """What is to be tuned, and how."""

    kinds: list[CallKind]
    sizes: list[int]
    budget: float
    """Seconds."""
    element: str
    network: str
    machine: str | None
    output: Path | None
    resume: bool


def tune(
    launch: LauncherLine = None,
    collectives: Annotated[
        str, typer.Option(help="With commas between: allreduce,bcast,reduce,reduce_scatter,allgather.")
    ] = "allreduce",
    forms: Annotated[
        str, typer.Option(help="With commas between: blocking, non-blocking, persistent.")
    ] = BLOCKING,
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long it may take in all: 5m, 90s.")] = "5m",
    sizes: Annotated[
        str, typer.Option(help="Message sizes to begin with, as in stretto bench; break points lie between.")
    ] = "64..16MiB:4",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The table; unless given, where the library looks for it.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume/--fresh", help="Go on with a tuning that was interrupted, or begin anew."),
    ] = True,
    machine: Annotated[
        str | None,
        typer.Option(help="A machine (stretto calibrate, stretto predict): what it promises is tried first."),
    ] = None,
    network: Annotated[
        str, typer.Option(help="A name for the network, to be written into the table.", show_default=False)
    ] = "",
    element: Element = ElementType.FLOAT,
    mpi_name: MpiName = None,
    ranks: Ranks = None,
    lab: OnLab = False,
    lab_name: LabName = DEFAULT_NAME,
    ppn: LabPpn = 1,
    provider: Provider = "ucx",
    link_rate: LinkRate = None,
) -> None:
    """Measure which spec is fastest at which size, against the MPI library by itself, and write a table."""
    place = Place(launch or [], mpi_name, ranks, lab_name if lab else None, provider, ppn)
    wanted = Wanted(
        parse_kinds(collectives, forms), parse_sizes(sizes), parse_seconds(budget), element.value, network,
        machine, output, resume,
    )  # fmt: skip
    rate = parse_rate(link_rate) if link_rate else None
    check_files([output])
    target = find_target(place)
    if target.rate is not None and not network:
        wanted = replace(wanted, network=f"tcp {format_rate(target.rate)}")
    tuning = Tuning(wanted, target)
    try:
        with tuning:
            tuning.run()
    except INTERRUPTIONS as ended:
        kept = f"what was finished is in {tuning.path}, and " if tuning.has_choices() else ""
        name = signal_of(ended).name
        print(
            f"stretto: {name} came before the end: {kept}the same command goes on from here", file=sys.stderr
        )
        raise
    _print_summary(tuning, rate)
    if tuning.failure is not None:
        raise tuning.failure


def parse_kinds(collectives: str, forms: str) -> list[CallKind]:
    """The calls that the options name."""
    named_forms = list(dict.fromkeys(form.strip() for form in forms.split(",")))
    for form in named_forms:
        if form not in FORMS:
            raise StrettoError(f"--forms {forms}: expected some of {', '.join(FORMS)}, with commas between")
    named = list(dict.fromkeys(check_collective(one.strip()) for one in collectives.split(",")))
    return [CallKind(collective, form) for collective in named for form in named_forms]


class _TimeLeft(ProgressColumn):
    """Of the budget."""

    def render(self, task: Task) -> Text:
        """`4:12 left`"""
        left = max(0, round((task.total or 0.0) - (task.elapsed or 0.0)))
        return Text(f"{left // 60}:{left % 60:02} left")


class Tuning:
    """One run of `stretto tune`: the job, the journal, the searches, and the table in the end."""

    def __init__(self, wanted: Wanted, target: Target) -> None:
        self.wanted = wanted
        self.target = target
        self.ready: Ready
        self.path: Path
        self.findings: dict[str, Findings] = {}
        self.remarks: list[str] = []
        self.failure: StrettoError | None = None
        self._begin = time.monotonic()
        self._watch = LoadWatch()
        self._console = Console(stderr=True)
        self._bar = Bar(TextColumn("{task.description}"), BarColumn(), _TimeLeft(), console=self._console)
        self._task = self._bar.add_task("starting", total=wanted.budget)
        self._jobs = contextlib.ExitStack()

    def __enter__(self) -> Tuning:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def run(self) -> None:
        """Measure, and write the table, or as much of it as there is when something ends it."""
        forms = list(dict.fromkeys(kind.form for kind in self.wanted.kinds))
        with self._jobs, contextlib.ExitStack() as launched:
            job = self._jobs.enter_context(self._start(forms, {}))
            self.ready = job.ready
            family, mpi = _identify(job.ready.library)
            self.path = self._find_path(family)
            old, why_not = read_old(self.path, mpi, self.wanted.network)
            journal, recorded = self._open_journal(mpi)
            launches = Launches(functools.partial(self._start, forms), self._ask, launched)
            bench = JobBench(
                job, journal, self._begin, self._advance,
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

    # The searches

    def _search_all(self, bench: JobBench, journal: Journal, recorded: Recorded, launches: Launches) -> bool:
        """Whether all came to their end."""
        kinds = self.wanted.kinds
        for at, kind in enumerate(kinds):
            left = self.wanted.budget - bench.elapsed()
            until = bench.elapsed() + left / (len(kinds) - at)
            self.findings[kind.name] = recorded.findings.get(kind.name, Findings())
            search = self._search(bench, journal, recorded, launches, kind, until)
            try:
                search.run(self.wanted.sizes)
            except TooShortError as error:
                # Of what was measured before, something may be there.
                if not any(found.choices for found in self.findings.values()):
                    self.failure = StrettoError(f"{error}; nothing was written")
                    return True
                self.remarks.append(str(error))
            except EndedError as error:
                kept = "what was finished is in the table, and " if self.has_choices() else ""
                self.failure = StrettoError(f"{error}; {kept}stretto tune goes on from {journal.path}")
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
        everywhere = Candidates(kind.collective, topology, () if self.ready.by_launch else names)
        candidates: Callable[[int], list[str]] = everywhere.all
        if self.ready.by_launch and names:
            by_size = self._audition(bench, launches, kind, names, until)

            def candidates(size: int) -> list[str]:
                return replace(everywhere, library=_nearest(by_size, size)[:_AUDITIONED]).all(size)

        return Search(
            bench, kind,
            candidates=candidates, variants=everywhere.variants, until=until,
            rule=functools.partial(_core.choose, kind.name, topology=parse_topology(topology)),
            predict=self._prediction(topology), report=self._report,
            chosen=lambda choice: journal.chosen(kind.name, choice),
            findings=self.findings[kind.name], times=recorded.times.get(kind.name),
            library_apart=self.ready.by_launch,
        )  # fmt: skip

    def _audition(
        self, bench: JobBench, launches: Launches, kind: CallKind, names: list[str], until: float
    ) -> dict[int, list[str]]:
        sizes = [size for size in self.wanted.sizes if size <= _AUDITION_MOST_BYTES] or self.wanted.sizes[:1]
        end = bench.elapsed() + _AUDITION * (until - bench.elapsed())
        # Some sizes tell enough.
        return launches.audition(kind, names, sizes[::-2], lambda: bench.elapsed() < end, self._report)

    @functools.cached_property
    def _model(self) -> Model | None:
        return Model(load_machine(self.wanted.machine)) if self.wanted.machine is not None else None

    def _prediction(self, topology: str) -> Predict:
        model = self._model
        if model is None:
            return no_prediction

        @functools.cache
        def predict(collective: str, spec: str, size: int) -> float | None:
            # What the library does is not for the model to say.
            if spec.startswith(NATIVE):
                return None
            return model.predict(Call(collective, size, topology), spec).seconds

        return predict

    # The job and its files

    def _start(
        self, forms: list[str], variables: Mapping[str, str]
    ) -> contextlib.AbstractContextManager[MeasuringJob]:
        return measuring_job(self.target, forms, self.wanted.element, variables)

    def _ask(
        self, job: MeasuringJob, kind: CallKind, size: int, specs: Sequence[str], repetitions: int
    ) -> dict[str, list[float]]:
        run = job.ask(
            request(kind, size, specs, repetitions, 20.0, 1), 120.0, lambda _done, _total: self._advance()
        )
        return {series.spec: series.seconds for series in run.series if series.correct}

    def _find_path(self, family: str) -> Path:
        if self.wanted.output is not None:
            return self.wanted.output.absolute()
        path = _core.default_table_path(family)
        if not path:
            raise StrettoError(
                "neither XDG_CONFIG_HOME nor HOME is set, so there is no place for the table; give --output"
            )
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StrettoError(
                f"{Path(path).parent} cannot be made: {error.strerror}; give --output"
            ) from None
        return Path(path)

    def _open_journal(self, mpi: str) -> tuple[Journal, Recorded]:
        path = self.path.with_name(self.path.name + ".journal")
        fingerprint: Fingerprint = {
            "mpi": mpi,
            "ppn": self.ready.ppn,
            "network": self.wanted.network,
            "type": self.wanted.element,
            "stretto": self.ready.stretto,
        }
        recorded = read_journal(path) if self.wanted.resume else None
        if recorded is not None and recorded.fingerprint != fingerprint:
            different = [key for key, value in fingerprint.items() if recorded.fingerprint.get(key) != value]
            self._say(f"{path} is of another tuning ({', '.join(different)} differ): it is not gone on with")
            recorded = None
        if recorded is None:
            return Journal(path, fingerprint, keeps=False), Recorded()
        self._say(f"going on with {path}: {recorded.sizes} sizes are decided")
        return Journal(path, fingerprint, keeps=True), recorded

    def has_choices(self) -> bool:
        """Whether there is anything for a table."""
        return any(found.choices for found in self.findings.values())

    def _write(self, mpi: str, old: Json | None, why_not: str) -> None:
        for found in self.findings.values():
            self.remarks += [remark for remark in found.remarks if remark not in self.remarks]
        if not self.has_choices():
            return
        if why_not:
            kept = self.path.with_name(self.path.name + ".old")
            self.path.replace(kept)
            self._say(f"{why_not}: it is kept as {kept}")
        on_this_node = self.ready.nodes == 1 or self.target.rate is not None
        load = self._watch.look(self.ready.ranks if on_this_node else None)
        self.remarks += load.remarks()
        about = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "stretto": self.ready.stretto,
            "type": self.wanted.element,
            "budget": self.wanted.budget,
            "load": load.to_json(),
        }
        choices = {call: found.sorted() for call, found in self.findings.items()}
        shape = Shape.of(self.ready.ppn)
        tuned = Tuned(
            mpi, self.wanted.network, shape, choices, self.remarks, about,
            by_launch=self.ready.by_launch, modelled=self._modelled(shape, choices),
        )  # fmt: skip
        text = table_text(merged(tuned, old))
        _core.read_table(text)  # what the library could not read is not written
        write_atomically(self.path, text)

    def _modelled(self, shape: Shape, choices: Mapping[str, list[Choice]]) -> list[Json]:
        if self._model is None:
            return []
        return modelled_shapes(self._model, shape, self.wanted.kinds, choices)

    # What is said meanwhile

    def _advance(self) -> None:
        self._bar.update(self._task, completed=time.monotonic() - self._begin)

    def _report(self, text: str) -> None:
        self._bar.update(self._task, description=text, completed=time.monotonic() - self._begin)

    def _say(self, text: str) -> None:
        self._console.print(f"stretto: {text}", markup=False, highlight=False, soft_wrap=True)


def _identify(library: str) -> tuple[str, str]:
    """Family and name."""
    known = _core.parse_library_name(library)
    if known is None:
        raise StrettoError(f"{library}: tables are for Open MPI, MPICH and Intel MPI")
    return known


def _nearest(by_size: Mapping[int, list[str]], size: int) -> list[str]:
    """What was found at the nearest size."""
    return by_size[min(by_size, key=lambda one: abs(one.bit_length() - size.bit_length()))]


def _print_summary(tuning: Tuning, rate: float | None) -> None:
    if not any(found.choices for found in tuning.findings.values()):
        return
    tables = {
        kind.name: _summary_table(kind, found.sorted(), _bound(tuning, kind, rate))
        for kind in tuning.wanted.kinds
        if (found := tuning.findings.get(kind.name)) and found.choices
    }
    console = console_for(*tables.values())
    for kind in tuning.wanted.kinds:
        if kind.name in tables:
            choices = tuning.findings[kind.name].sorted()
            console.print(tables[kind.name])
            mean = geometric_mean_gain(
                [one for one in choices if one.size in tuning.wanted.sizes], _MEAN_FROM, _MEAN_TO
            )
            if mean is not None:
                span = f"{format_bytes(_MEAN_FROM)} - {format_bytes(_MEAN_TO)}"
                console.print(f"{kind.name}: geometric mean of the gains, {span}: {mean:.2f}")
    for line in _summary_lines(tuning):
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _bound(tuning: Tuning, kind: CallKind, rate: float | None) -> LinkBound | None:
    collective, ppn = COLLECTIVES[kind.collective], tuning.ready.ppn
    if len(ppn) < 2:
        return None
    if rate is not None:
        return LinkBound(rate, collective, ppn)
    return LinkBound.for_lab(tuning.target.rate, collective, ppn) if tuning.target.rate is not None else None


def _summary_table(kind: CallKind, choices: list[Choice], bound: LinkBound | None) -> Table:
    table = Table(title=kind.name, title_justify="left", box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in ("size", "AUTO", "choice", "time", "gain (95 %)", *(["of bound"] if bound else [])):
        table.add_column(column, justify="left" if column == "choice" else "right")
    for choice in choices:
        limit = bound.bandwidth(choice.size) if bound else None
        share = f"{100 * choice.size / choice.seconds.median / limit:.0f} %" if limit else ""
        table.add_row(
            format_bytes(choice.size),
            _time(choice.native.median),
            choice.spec,
            _time(choice.seconds.median) if choice.spec != NATIVE else "",
            f"{choice.gain.median:.2f} ({choice.gain.low:.2f}-{choice.gain.high:.2f})"
            if choice.spec != NATIVE
            else "",
            *([share] if bound else []),
        )
    return table


def _time(seconds: float) -> str:
    factor, unit = seconds_unit(seconds)
    return f"{three_digits(seconds / factor)} {unit}"


def _summary_lines(tuning: Tuning) -> Iterator[str]:
    ready, spent = tuning.ready, time.monotonic() - tuning._begin
    nodes = "one node" if ready.nodes == 1 else f"{ready.nodes} nodes"
    where = f"{ready.library}, {ready.ranks} ranks on {nodes}"
    yield f"{where}, {tuning.wanted.element}, in {format_seconds(round(spent))}"
    yield rule_text()
    yield from tuning.remarks
    yield f"written to {tuning.path}"
