# SPDX-License-Identifier: Apache-2.0
"""The search's `Bench` on a job of the measuring program, which records measurements in the journal."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from stretto.bench.job import MeasuringJob
from stretto.results.runs import EndedError, RefusedError
from stretto.spec.native import NATIVE, library_name
from stretto.tune.findings import CallKind, Samples
from stretto.tune.journal import Journal
from stretto.tune.launches import Launches

# A spec whose calls take as long as this is measured without warm-up calls.
_LONG_SECONDS = 50e-3
# A job is given up if it is silent for this much longer than the measurement should take.
_PATIENCE_SECONDS = 120.0
_PATIENCE_FACTOR = 20.0


class JobBench:
    """Measures in one job, and records each step in the journal."""

    def __init__(
        self,
        job: MeasuringJob,
        journal: Journal,
        begin: float,
        progress: Callable[[], None],
        launches: Launches | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        """`begin`: begin of the tuning, by time.monotonic(). `left_out`: such as `allreduce native(ring)`."""
        self._job = job
        self._journal = journal
        self._begin = begin
        self._progress = progress
        self._launches = launches
        self._left_out = set(left_out)
        self._seed = 0
        self.remarks: list[str] = []

    def elapsed(self) -> float:
        """Returns the seconds since the tuning began."""
        return time.monotonic() - self._begin

    def measure(
        self, kind: CallKind, size: int, specs: Sequence[str], repetitions: int, seconds: float
    ) -> Samples:
        """Returns the seconds of a call by each spec (see Bench). Raises EndedError if the job ends."""
        wanted = [spec for spec in specs if f"{kind.name} {spec}" not in self._left_out]
        self._journal.measuring(kind.name, size, wanted)
        try:
            samples = self._ask_for(kind, size, wanted, repetitions, seconds)
        except EndedError as error:
            self._journal.ended()
            what = f"{kind.name} of {size} bytes by {', '.join(wanted)}"
            raise EndedError(f"{error}; it was measuring {what}") from None
        self._journal.measured(kind.name, size, samples)
        return samples

    def _ask_for(
        self, kind: CallKind, size: int, specs: list[str], repetitions: int, seconds: float
    ) -> Samples:
        apart = [spec for spec in specs if library_name(spec) is not None] if self._launches else []
        here = [spec for spec in specs if spec not in apart]
        if self._launches and apart:
            here.append(self._launches.reference(kind))
        samples = self._ask(kind, size, list(dict.fromkeys(here)), repetitions, seconds)
        if self._launches and apart:
            by_reference = samples[self._launches.reference(kind)]
            for spec in apart:
                ratios = self._launches.measure(kind, size, library_name(spec) or "", len(by_reference))
                if ratios:
                    samples[spec] = [a * b for a, b in zip(by_reference, ratios, strict=False)]
        fewest = min((len(seconds) for seconds in samples.values()), default=0)
        return {spec: samples[spec][:fewest] for spec in specs if spec in samples}

    def _ask(self, kind: CallKind, size: int, specs: list[str], repetitions: int, seconds: float) -> Samples:
        while True:
            self._seed += 1
            words = request(kind, size, specs, repetitions, seconds, self._seed)
            patience = _PATIENCE_SECONDS + _PATIENCE_FACTOR * seconds
            try:
                run = self._job.ask(words, patience, lambda _done, _total: self._progress())
            except RefusedError as error:
                refused = self._refused(kind, specs, str(error))
                if refused is None:
                    raise
                specs = [spec for spec in specs if spec != refused]
                continue
            for series in run.series:
                if not series.correct and series.spec != NATIVE:
                    self._leave_out(kind, series.spec, f"gave wrong results at {series.bytes} bytes")
            return {series.spec: series.seconds for series in run.series if series.correct}

    def _refused(self, kind: CallKind, specs: list[str], message: str) -> str | None:
        """Returns the library's own algorithm that the message refuses; None for other messages."""
        match = re.search(r"spec (native\(.*?\))[: ]", message)
        if match is None or match[1] not in specs:
            return None
        self._leave_out(kind, match[1], "is refused by the library")
        return match[1]

    def _leave_out(self, kind: CallKind, spec: str, why: str) -> None:
        self._left_out.add(f"{kind.name} {spec}")
        text = f"{spec} {why}: left out"
        self.remarks.append(f"{kind.name}: {text}")
        self._journal.remark(kind.name, text)


def request(
    kind: CallKind,
    size: int,
    specs: Sequence[str],
    repetitions: int,
    seconds: float,
    seed: int,
    *,
    cold: int = 0,
) -> list[str]:
    """Returns the measuring program's arguments.

    `cold`: if not 0, each sample is so many calls in a row, from the first call on.
    """
    each = seconds / max(1, repetitions) / max(1, len(specs))
    return [
        "--collective", kind.collective,
        "--forms", kind.form,
        "--specs", ",".join(specs),
        "--sizes", str(size),
        "--repetitions", str(repetitions),
        "--min-seconds", "0",
        # If this takes much longer than planned, as on a busy machine, fewer samples must be enough.
        "--max-seconds", f"{max(1.0, 3 * seconds):.3f}",
        "--warmup", "0" if each > _LONG_SECONDS else "1",
        "--seed", str(seed),
        "--cold", str(cold),
    ]  # fmt: skip
