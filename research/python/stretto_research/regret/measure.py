# SPDX-License-Identifier: Apache-2.0
"""Measures one collective of one MPI library on one network, in one job.

Stretto's default is measured as programs use it: the guard is on, and nothing is remembered from earlier
jobs. At each size it is first called alone, one call at a time, until its duels are over. Then a few samples
of each candidate show which are the best. Finally, the MPI default, Stretto's default and these are measured
in turns. A sample is the mean of a row of calls, as in `stretto tune`. A second job, which remembers the
first, makes as many first calls. Without an MPI library, the spec of the built-in rule takes the place of the
MPI default, and all calls are non-blocking.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from stretto.bench.job import MeasuringJob, measuring_job
from stretto.bench.targets import Target
from stretto.results.runs import BLOCKING, NON_BLOCKING, EndedError, Run
from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE
from stretto.support.errors import StrettoError
from stretto.support.machine_load import LoadWatch
from stretto.support.units import format_bytes
from stretto.tune.bench import request
from stretto.tune.findings import CallKind
from stretto_research.regret.figures import Cell, Job
from stretto_research.regret.specs import Tables, candidates, rule_spec

FIRST_ROW = 10
"""The first calls are measured in rows of this length. Before and behind a row, the ranks wait for each
other in the MPI library. If it keeps cores while it waits, the next call has to wait for its core."""
LEAST_WARMUP = 40
"""The least calls of a warm-up, however long they take: a few duels of up to 12 calls each."""
LEAST_REPETITIONS = 5
"""The repetitions after which the measuring program ends a measurement that takes too long."""
# Longer warm-ups end after the least number of calls.
_WARMUP_SECONDS = 10.0
# After the warm-up, calls go on for this long, in rows like the samples. Idle links first pass a burst at
# full speed, and the guard has to see that calls take longer from then on.
_SETTLE_SECONDS = 1.0
# The measuring program makes so many calls in a row that they take this long.
_ROW_SECONDS = 0.02
_FINALISTS = 3
_TRIALS = 3
# If a call takes longer than this, each spec gets one trial only.
_LONG_SECONDS = 0.2
# A job that is silent for this long is given up.
_PATIENCE_SECONDS = 300.0

# The guard is on, as for a program.
AS_FOR_PROGRAMS: dict[str, str | None] = {"STRETTO_ONLINE": None}

Report = Callable[[float, float], None]
"""A function that gets the number of steps of a job that are done, and of all its steps."""


@dataclass(frozen=True)
class Plan:
    """How each job is measured."""

    sizes: Sequence[int]
    repetitions: int = 9
    warmup: int = 100
    """Calls of Stretto's default before it is measured."""
    max_seconds: float = 900.0
    """The time for all sizes of a job. Sizes that would take longer are left out."""
    tables: Tables = field(default_factory=lambda: Tables([]))


def measure_job(job: Job, target: Target, plan: Plan, variables: dict[str, str], report: Report) -> Job:
    """The job with its results. If it fails, it has the results until then, and says why.

    `job` names the network, the MPI library and the collective.
    """
    begin, watch = time.monotonic(), LoadWatch()
    with tempfile.TemporaryDirectory(prefix="stretto-regret-") as folder:
        settings = AS_FOR_PROGRAMS | variables | {"STRETTO_FABRIC": str(Path(folder) / "fabric.json")}
        job = _measure(job, target, plan, settings, report)
    return replace(
        job,
        seconds=round(time.monotonic() - begin, 1),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        load=watch.look().to_json(),
    )


def _measure(job: Job, target: Target, plan: Plan, settings: Mapping[str, str | None], report: Report) -> Job:
    forms = [_form(job)]
    try:
        with measuring_job(target, forms, "float", settings) as process:
            ready = process.ready
            job = replace(job, library=ready.library, ppn=ready.ppn)
            measurement = _Measurement(process, job, plan)
            error = ""
            try:
                for done, size in enumerate(plan.sizes):
                    report(done, len(plan.sizes))
                    measurement.measure(size)
            except StrettoError as failure:
                error = str(failure)
            job = replace(job, cells=measurement.cells, left_out=measurement.left_out, error=error)
        if not job.error:
            with measuring_job(target, forms, "float", settings) as process:
                second = _Measurement(process, job, plan)
                job = replace(
                    job, cells=[replace(cell, second=second.warm_up(cell.bytes)) for cell in job.cells]
                )
    except StrettoError as failure:
        # The job did not start, or it did not end. The latter says less than an error that came before.
        job = replace(job, error=job.error or str(failure))
    return job


def _form(job: Job) -> str:
    return BLOCKING if job.has_library else NON_BLOCKING


class _Measurement:
    """The measurements of one job, in ascending order of size."""

    def __init__(self, process: MeasuringJob, job: Job, plan: Plan) -> None:
        self.cells: list[Cell] = []
        self.left_out: list[int] = []
        self._process = process
        self._job = job
        self._plan = plan
        self._kind = CallKind(job.collective, _form(job))
        self._begin = time.monotonic()
        self._seed = 0

    def measure(self, size: int) -> None:
        """Measure one size, if there is time for it."""
        job, call = self._job, self._kind.name
        rule = rule_spec(call, job.ppn, size, has_library=job.has_library)
        tried = candidates(job.collective, job.ppn, size, rule)
        tuned = self._plan.tables.specs(job.library, call, job.ppn, size)
        standing = [NATIVE if job.has_library else rule, *tuned]
        if self._least_seconds(size, len(tried)) > self._left():
            self.left_out.append(size)
            return
        first = self.warm_up(size)
        self._settle(size, first)
        specs = [*standing, STRETTO, *self._finalists(size, [one for one in tried if one not in standing])]
        run = self._ask(size, list(dict.fromkeys(specs)), self._plan.repetitions, self._left())
        chosen = next(series.chosen for series in run.series if series.spec == STRETTO)
        samples = {series.spec: series.seconds for series in run.series}
        self.cells.append(Cell(size, chosen, samples, first, rule="" if job.has_library else rule))

    def _left(self) -> float:
        return self._plan.max_seconds - (time.monotonic() - self._begin)

    def _least_seconds(self, size: int, tried: int) -> float:
        """The least seconds of a size, estimated from the size before: a call's time grows with its bytes."""
        if not self.cells:
            return 0.0
        last = self.cells[-1]
        seconds = [last.median(spec) for spec in last.samples]
        warmup = min(LEAST_WARMUP, self._plan.warmup) * last.auto
        return (warmup + LEAST_REPETITIONS * sum(seconds) + 2 * tried * min(seconds)) * size / last.bytes

    def warm_up(self, size: int) -> list[float]:
        """Call Stretto's default until its duels are over, and return the seconds of each call.

        They are the mean of a row.
        """
        begin = time.monotonic()
        least = min(LEAST_WARMUP, self._plan.warmup)
        seconds = self._first_calls(size, least)
        each = (time.monotonic() - begin) / least
        more = min(self._plan.warmup - least, int((_WARMUP_SECONDS - each * least) / each))
        return seconds + self._first_calls(size, more) if more > 0 else seconds

    def _first_calls(self, size: int, calls: int) -> list[float]:
        row = min(FIRST_ROW, calls)
        rows = self._ask(size, [STRETTO], calls // row, cold=row).series[0].seconds
        return [seconds for seconds in rows for _ in range(row)]

    def _settle(self, size: int, first: Sequence[float]) -> None:
        """Make more calls of Stretto's default, in rows, until the network and the guard have settled."""
        rows = math.ceil(_SETTLE_SECONDS / max(statistics.median(first), _ROW_SECONDS))
        self._ask(size, [STRETTO], rows)

    def _finalists(self, size: int, tried: Sequence[str]) -> list[str]:
        """The best of the specs, by a few samples."""
        if len(tried) <= _FINALISTS:
            return list(tried)
        is_long = (
            bool(self.cells) and self.cells[-1].baseline_seconds * size / self.cells[-1].bytes > _LONG_SECONDS
        )
        run = self._ask(size, tried, 1 if is_long else _TRIALS)
        times = {series.spec: statistics.median(series.seconds) for series in run.series}
        return sorted(times, key=times.__getitem__)[:_FINALISTS]

    def _ask(
        self,
        size: int,
        specs: Sequence[str],
        repetitions: int,
        seconds: float = 1e6,
        *,
        cold: int = 0,
    ) -> Run:
        """Take the samples of each spec, but as few as five if they would take longer than `seconds`."""
        self._seed += 1
        words = request(self._kind, size, specs, repetitions, seconds / 3, self._seed, cold=cold)
        try:
            run = self._process.ask(words, _PATIENCE_SECONDS, lambda _done, _total: None)
        except EndedError as error:
            what = f"{self._job.collective} of {format_bytes(size)} by {', '.join(specs)}"
            raise EndedError(f"{error}; it was measuring {what}") from None
        for series in run.series:
            if not series.correct:
                raise StrettoError(f"WRONG RESULTS of {series.spec} at {format_bytes(size)}")
        return run
