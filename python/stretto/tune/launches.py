# SPDX-License-Identifier: Apache-2.0
"""Measures a library's own algorithms if they can be set only when a job starts (Intel MPI).

Each algorithm needs a job of its own, in which the MPI default cannot be measured. So each algorithm is
compared with a reference: a spec of Stretto that is measured in every job.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from stretto.bench.job import MeasuringJob
from stretto.results.runs import BLOCKING
from stretto.spec.native import native_by
from stretto.support.errors import StrettoError
from stretto.tune.findings import CallKind

# Specs that are nearly the best for short and for long messages.
_REFERENCES = {
    "allreduce": "rabenseifner",
    "bcast": "scatter_recursive_doubling",
    "reduce": "rabenseifner",
    "reduce_scatter": "pairwise",
    "allgather": "ring",
    "alltoall": "pairwise",
    "gather": "binomial",
    "scatter": "binomial",
    "scan": "recursive_doubling",
    "exscan": "recursive_doubling",
}
_AUDITION_REPETITIONS = 3


class Asker(Protocol):
    """Measures specs in a job."""

    def __call__(
        self, job: MeasuringJob, kind: CallKind, size: int, specs: Sequence[str], repetitions: int
    ) -> dict[str, list[float]]:
        """Returns the seconds of a call by spec."""


def variable_of(kind: CallKind) -> str:
    """Returns the environment variable that sets Intel MPI's algorithm."""
    name = kind.collective if kind.form == BLOCKING else f"i{kind.collective}"
    return f"I_MPI_ADJUST_{name.upper()}"


class Launches:
    """Starts a job for each algorithm. The last job is kept for the next request."""

    def __init__(
        self,
        start: Callable[[Mapping[str, str]], contextlib.AbstractContextManager[MeasuringJob]],
        ask: Asker,
        jobs: contextlib.ExitStack,
    ) -> None:
        """`start`: starts a job with given variables. `jobs`: ends the last job."""
        self._start = start
        self._ask = ask
        self._jobs = jobs
        self._current: tuple[CallKind, str, MeasuringJob] | None = None

    def reference(self, kind: CallKind) -> str:
        """Returns the reference spec, which every job measures."""
        return _REFERENCES[kind.collective]

    def measure(self, kind: CallKind, size: int, name: str, repetitions: int) -> list[float]:
        """Returns times relative to the reference, by sample; empty if the algorithm cannot be measured."""
        spec = native_by(name)
        try:
            job = self._job(kind, name)
            samples = self._ask(job, kind, size, [spec, self.reference(kind)], repetitions)
        except StrettoError:
            self._end()
            return []  # not all presets work everywhere
        own, others = samples.get(spec, []), samples.get(self.reference(kind), [])
        return [a / b for a, b in zip(own, others, strict=False)]

    def audition(
        self,
        kind: CallKind,
        names: Sequence[str],
        sizes: Sequence[int],
        has_time: Callable[[], bool],
        report: Callable[[str], None],
    ) -> dict[int, list[str]]:
        """Returns the algorithms by size, the fastest first, by a few samples of each while time lasts."""
        ratios: dict[int, dict[str, float]] = {size: {} for size in sizes}
        for name in names:
            if not has_time():
                break
            report(f"{kind.name}: {variable_of(kind)}={name}")
            for size in sizes:
                if found := self.measure(kind, size, name, _AUDITION_REPETITIONS):
                    ratios[size][name] = statistics.median(found)
        return {size: sorted(found, key=found.__getitem__) for size, found in ratios.items()}

    def _job(self, kind: CallKind, name: str) -> MeasuringJob:
        if self._current is None or self._current[:2] != (kind, name):
            self._end()
            job = self._jobs.enter_context(self._start({variable_of(kind): name}))
            self._current = kind, name, job
        return self._current[2]

    def _end(self) -> None:
        self._current = None
        self._jobs.close()
