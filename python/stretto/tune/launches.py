# SPDX-License-Identifier: Apache-2.0
"""The own algorithms of a library that chooses among them only when a job is started (Intel MPI).

Each needs a job of its own, in which the library's own choice cannot be measured any more. So both are
compared to a third: a spec of Stretto, which the library's choice does not touch, is measured beside each.
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

# Neither far from the best for short messages nor for long ones.
_REFERENCES = {
    "allreduce": "rabenseifner",
    "bcast": "scatter_recursive_doubling",
    "reduce": "rabenseifner",
    "reduce_scatter": "pairwise",
    "allgather": "ring",
}
_AUDITION_REPETITIONS = 3


class Asker(Protocol):
    """What puts a request to a job."""

    def __call__(
        self, job: MeasuringJob, kind: CallKind, size: int, specs: Sequence[str], repetitions: int
    ) -> dict[str, list[float]]:
        """Seconds by spec."""


def variable_of(kind: CallKind) -> str:
    """What tells Intel MPI which of its algorithms to take."""
    name = kind.collective if kind.form == BLOCKING else f"i{kind.collective}"
    return f"I_MPI_ADJUST_{name.upper()}"


class Launches:
    """Starts a job for each algorithm that is asked for; keeps the last, as it may be asked for again."""

    def __init__(
        self,
        start: Callable[[Mapping[str, str]], contextlib.AbstractContextManager[MeasuringJob]],
        ask: Asker,
        jobs: contextlib.ExitStack,
    ) -> None:
        """`start`: a job with these variables. `jobs`: what ends the last one."""
        self._start = start
        self._ask = ask
        self._jobs = jobs
        self._current: tuple[CallKind, str, MeasuringJob] | None = None

    def reference(self, kind: CallKind) -> str:
        """The spec that is measured beside each."""
        return _REFERENCES[kind.collective]

    def measure(self, kind: CallKind, size: int, name: str, repetitions: int) -> list[float]:
        """How many times the reference's time it takes, sample by sample; empty if it cannot be measured."""
        spec = native_by(name)
        try:
            job = self._job(kind, name)
            samples = self._ask(job, kind, size, [spec, self.reference(kind)], repetitions)
        except StrettoError:
            self._end()
            return []  # of presets that there are, not all work everywhere
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
        """The names by size, the fastest first, of those for which there was time: a few samples of each."""
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
