# SPDX-License-Identifier: Apache-2.0
"""Measures the runs of a study within a budget of time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from stretto.bench.job import Ready, measuring_job
from stretto.bench.targets import Target, link_bound, measure
from stretto.results.runs import BLOCKING, Run, Series, describe_machine
from stretto.spec.collectives import Collective
from stretto.spec.native import NATIVE, native_by, usable
from stretto.studies.file import StudyRun
from stretto.support.errors import StrettoError
from stretto.support.interruption import INTERRUPTIONS
from stretto.support.units import format_seconds
from stretto.tune.bench import request
from stretto.tune.findings import CallKind
from stretto.tune.launches import variable_of

# With less time than this, ranks are not started.
_LEAST_SECONDS = 1.0
# A job that is silent for this long is given up.
_PATIENCE_SECONDS = 120.0

Report = Callable[[float, float], None]
"""A function that is called with the steps of a job that are done, and the number of all steps."""


@dataclass
class Clock:
    """A budget of time, which runs from the creation of this object."""

    budget: float
    begin: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds that are left; below 0 once the budget is spent."""
        return self.budget - (time.monotonic() - self.begin)

    def share(self, jobs: int) -> float:
        """Returns the seconds for each of the remaining jobs. Raises StrettoError if they are too few."""
        share = self.left / jobs
        if share < _LEAST_SECONDS:
            raise StrettoError(
                f"--budget {format_seconds(self.budget)} is too short: {max(0.0, self.left):.1f} s are left "
                f"for {jobs} more to measure"
            )
        return share


@dataclass(frozen=True)
class Settings:
    """Settings of every run of a study."""

    sizes: Sequence[int]
    repetitions: int
    seed: int
    rate: float | None
    """The rate of a node's link in bytes per second, if the user gave one."""


def probe(target: Target) -> Ready:
    """Starts a job and returns what its ranks report: the library, its own algorithms, nodes and ranks."""
    with measuring_job(target, [BLOCKING], "float") as job:
        return job.ready


def library_algorithms(ready: Ready, collective: Collective) -> list[str]:
    """Returns the library's own algorithms that one job can measure beside other specs."""
    if ready.by_launch:
        return []
    return usable(ready.names_of(collective.name, BLOCKING), ready.ranks)


def arguments_for(
    collective: Collective, specs: Sequence[str], settings: Settings, seconds: float
) -> list[str]:
    """Returns the measuring program's arguments for one run of all specs that ends after `seconds`."""
    return [
        "--collective", collective.name,
        "--specs", ",".join(specs),
        "--sizes", ",".join(map(str, settings.sizes)),
        "--repetitions", str(settings.repetitions),
        "--warmup", "1",
        "--max-seconds", f"{seconds:.1f}",
        "--budget", f"{seconds:.1f}",
        "--seed", str(settings.seed),
    ]  # fmt: skip


def _as_many(found: Sequence[Series], run: Run) -> list[Series]:
    """Returns series, cut to the number of samples of `native` in the run. Shorter ones are left out."""
    counts = {series.bytes: len(series.seconds) for series in run.series if series.spec == NATIVE}
    return [
        replace(series, seconds=series.seconds[: counts[series.bytes]])
        for series in found
        if series.correct and len(series.seconds) >= counts.get(series.bytes, 1 << 30)
    ]


def measure_launches(
    target: Target, collective: Collective, ready: Ready, settings: Settings, seconds: float, into: Run
) -> None:
    """Measure the library's own algorithms, while time lasts, if each needs its own job (Intel MPI)."""
    if not ready.by_launch:
        return
    kind = CallKind(collective.name, BLOCKING)
    end = time.monotonic() + seconds
    for name in usable(ready.names_of(kind.collective, kind.form), ready.ranks):
        with (
            contextlib.suppress(StrettoError),  # not all presets work everywhere
            measuring_job(target, [kind.form], "float", {variable_of(kind): name}) as job,
        ):
            for size in settings.sizes:
                left = end - time.monotonic()
                if left < 0:
                    return
                words = request(kind, size, [native_by(name)], settings.repetitions, left / 4, settings.seed)
                found = job.ask(words, _PATIENCE_SECONDS, lambda _done, _total: None)
                into.series += _as_many(found.series, into)


def measure_run(
    target: Target,
    arguments: list[str],
    settings: Settings,
    report: Report,
    keep: Callable[[StudyRun], None],
    extend: Callable[[Run], None] = lambda _: None,
) -> None:
    """Measure one run and hand it to `keep`, also if it fails or is interrupted after its first results.

    `extend` adds series that need jobs of their own.
    """
    run = Run()

    def finish(incomplete: str) -> None:
        keep(StudyRun(run, link_bound(run, target, settings.rate), incomplete, describe_machine()))

    try:
        measure(target, arguments, report, run)
    except StrettoError as error:
        if not run.series:
            raise
        finish(str(error))
    except INTERRUPTIONS:
        if run.series:
            finish("it was interrupted")
        raise
    else:
        wrong = next((series for series in run.series if not series.correct), None)
        if wrong is not None:
            raise StrettoError(f"WRONG RESULTS of {wrong.label} at {wrong.bytes} bytes by {run.library}")
        extend(run)
        finish("")
