# SPDX-License-Identifier: Apache-2.0
"""The measuring of a study: one MPI library after the other, within a budget of time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text

from stretto.bench.job import Ready, measuring_job
from stretto.bench.targets import Target, link_bound, measure
from stretto.results.runs import BLOCKING, Run, Series, describe_machine
from stretto.spec.collectives import Collective
from stretto.spec.native import NATIVE, native_by, usable
from stretto.study.file import StudyRun
from stretto.support.console import Bar
from stretto.support.errors import StrettoError
from stretto.support.interruption import INTERRUPTIONS
from stretto.support.units import format_seconds
from stretto.tune.bench import request
from stretto.tune.findings import CallKind
from stretto.tune.launches import variable_of

# Less than this is not worth starting the ranks for.
_LEAST_SECONDS = 1.0
# A job that says nothing for so long is given up.
_PATIENCE_SECONDS = 120.0

Report = Callable[[float, float], None]


class _TimeLeft(ProgressColumn):
    """How long it may still take at most: until the budget is spent."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def render(self, task: Task) -> Text:
        """Minutes and seconds; the task itself says nothing that is needed."""
        del task
        minutes, seconds = divmod(round(max(0.0, self._clock.left)), 60)
        return Text(f"at most {minutes}:{seconds:02d} left")


@dataclass
class Clock:
    """A budget of time that has begun to run."""

    budget: float
    begin: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds; below zero once it is spent."""
        return self.budget - (time.monotonic() - self.begin)

    def share(self, jobs: int) -> float:
        """The seconds that each of so many jobs to come may take. Raises StrettoError if too few."""
        share = self.left / jobs
        if share < _LEAST_SECONDS:
            raise StrettoError(
                f"--budget {format_seconds(self.budget)} is too small: "
                f"{max(0.0, self.left):.1f} s of it are left for {jobs} more to measure"
            )
        return share


class Display:
    """A bar on standard error; standard output stays clean for the tables."""

    def __init__(self, bar: Progress, jobs: int) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=jobs)
        self._done = -1

    def next_job(self, name: str) -> Report:
        """Told of a job's steps: how many are done, of how many."""
        self._done += 1
        done = self._done
        self._bar.update(self._task, description=name, completed=done)
        return lambda part, total: self._bar.update(self._task, completed=done + part / max(total, 1e-9))


@contextlib.contextmanager
def display(clock: Clock, jobs: int) -> Iterator[Display]:
    """A bar while the block runs, with the time left."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), _TimeLeft(clock))
    with Bar(*columns) as bar:
        yield Display(bar, jobs)


@dataclass(frozen=True)
class Settings:
    """What holds for every run of a study."""

    sizes: Sequence[int]
    repetitions: int
    seed: int
    rate: float | None
    """Bytes per second of a node's link, where the user says so."""


def probe(target: Target) -> Ready:
    """What answers, on how many nodes and ranks, and which algorithms of its own the library has."""
    with measuring_job(target, [BLOCKING], "float") as job:
        return job.ready


def library_algorithms(ready: Ready, collective: Collective) -> list[str]:
    """Those of the library's own that one job can measure beside others."""
    if ready.by_launch:
        return []
    return usable(ready.names_of(collective.name, BLOCKING), ready.ranks)


def arguments_for(
    collective: Collective, specs: Sequence[str], settings: Settings, seconds: float
) -> list[str]:
    """The measuring program's arguments: all specs in one run that is to end after so many seconds."""
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
    """Those that have as many samples as the MPI default has in the run, so that they can be compared."""
    counts = {series.bytes: len(series.seconds) for series in run.series if series.spec == NATIVE}
    return [
        replace(series, seconds=series.seconds[: counts[series.bytes]])
        for series in found
        if series.correct and len(series.seconds) >= counts.get(series.bytes, 1 << 30)
    ]


def measure_launches(
    target: Target, collective: Collective, ready: Ready, settings: Settings, seconds: float, into: Run
) -> None:
    """The library's own algorithms where each needs a job (Intel MPI), as far as the seconds last."""
    if not ready.by_launch:
        return
    kind = CallKind(collective.name, BLOCKING)
    end = time.monotonic() + seconds
    for name in usable(ready.names_of(kind.collective, kind.form), ready.ranks):
        with (
            contextlib.suppress(StrettoError),  # of presets that there are, not all work everywhere
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
    """One run, handed to `keep`; if it fails or is interrupted after its first results, these.

    `extend` adds what needs jobs of its own.
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
