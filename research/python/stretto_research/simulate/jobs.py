# SPDX-License-Identifier: Apache-2.0
"""Jobs in virtual time: calls of a collective, or a ping-pong (smpi.py runs them)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.spec.collectives import COLLECTIVES
from stretto.spec.native import FAMILIES, library_name
from stretto.support.errors import StrettoError
from stretto.support.units import format_bytes
from stretto_research.simulate.platforms import Platform
from stretto_research.simulate.smpi import Progress, Task, run_tasks

SELECTORS = {"openmpi": "ompi", "mpich": "mpich", "mvapich2": "mvapich2", "intelmpi": "impi"}
"""The libraries that `native` can imitate, and their names in SMPI."""
LABELS = {**FAMILIES, "mvapich2": "MVAPICH2"}
"""The names of the libraries that people read."""
_REAL_BYTES = 1 << 30
"""If all buffers of a job together are at most this large, messages carry data and results are checked."""
_BUFFERS = 4
"""Buffers of the longest message on each rank: input, output, received data, and the library's own."""
_RANK_BYTES = 1 << 20
"""Memory of a rank apart from its buffers: stack, schedule, requests."""


@dataclass(frozen=True, slots=True)
class Job:
    """Calls of one collective by one spec, on one cluster."""

    platform: Platform
    nodes: int
    spec: str
    sizes: tuple[int, ...]
    ppn: int = 1
    collective: str = "allreduce"
    selector: str = "openmpi"
    """The library that `native` imitates."""
    in_place: str = "no"
    root: int = 0
    type: str = "float"
    arithmetic: bool = True
    """Whether reductions take time."""
    data: bool | None = None
    """Whether messages carry data and results are checked. None: they do so if that needs little memory."""
    in_a_row: int = 1
    """Calls in a row without a barrier, timed together. With data, they cannot be in place."""
    skew: float | None = None
    """The part of the message that the block of rank 0 holds; None if blocks are equal."""

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.nodes * self.ppn

    @property
    def is_native(self) -> bool:
        """Whether the spec is an algorithm of SMPI."""
        return self.spec == "native" or library_name(self.spec) is not None

    def task(self) -> Task:
        """Returns the task that runs the measuring program for this job."""
        if self.selector not in SELECTORS:
            raise StrettoError(f"--selector {self.selector}: expected one of {', '.join(SELECTORS)}")
        algorithm = library_name(self.spec)
        longest = max(self.sizes)
        has_data = self.ranks * longest * _BUFFERS <= _REAL_BYTES if self.data is None else self.data
        # Without data, all ranks share buffers, but a library's algorithms allocate one each.
        may_be_native = self.is_native or self.spec == "auto"
        buffers = _BUFFERS * self.ranks if has_data else 2 + (self.ranks if may_be_native else 0)
        settings: tuple[str, ...] = ()
        if algorithm is not None:
            settings = (f"smpi/{self.collective}:{algorithm}",)
        elif may_be_native:
            settings = (f"smpi/coll-selector:{SELECTORS[self.selector]}",)
        return Task(
            self.platform,
            self.nodes,
            self.ppn,
            (
                "--collective", self.collective,
                "--specs", "native" if self.is_native else self.spec,
                "--sizes", ",".join(map(str, self.sizes)),
                "--in-place", self.in_place,
                "--root", str(self.root),
                "--type", self.type,
                "--data", "yes" if has_data else "no",
                "--arithmetic", "yes" if self.arithmetic else "no",
                *(("--skew", str(self.skew)) if self.skew is not None else ()),
                *(("--in-a-row", str(self.in_a_row)) if self.in_a_row > 1 else ()),
            ),
            settings,
            longest * buffers + _RANK_BYTES * self.ranks,
            f"{self.spec} on {self.ranks} ranks with {format_bytes(longest)}",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """The result of one call in virtual time."""

    bytes: int
    in_place: bool
    chosen: str
    """The spec that `auto` chose; for other specs, the spec itself."""
    seconds: float
    correct: bool | None
    """Whether the results of all ranks are correct; None if there were no data. Some of SMPI's algorithms
    are wrong (3.32: reduce_scatter of unequal blocks, Intel MPI's bcast); their times are used anyway."""


def run_jobs(jobs: Sequence[Job], progress: Progress | None = None) -> list[list[Point]]:
    """Runs jobs. Returns the points of each job, by size and place.

    Calls that SMPI refuses are missing: some libraries choose algorithms that do not support the number
    of ranks. Raises StrettoError if a job is impossible (before anything starts), fails, or gives a wrong
    result.
    """
    results = []
    for job, events in zip(jobs, run_tasks([job.task() for job in jobs], progress), strict=True):
        points = [
            Point(one["bytes"], one["in_place"], one["chosen"], one["seconds"], one["correct"])
            for one in events
            if one["event"] == "result"
        ]
        for point in points:
            if point.correct is False and not job.is_native:
                raise StrettoError(
                    f"WRONG RESULT of {job.spec} at {format_bytes(point.bytes)} in the simulation"
                )
        results.append(points)
    return results


def seconds_of(jobs: Sequence[Job], progress: Progress | None = None) -> list[dict[int, float]]:
    """Returns the seconds of each job by requested size, without sizes that SMPI refuses (see run_jobs()).

    Messages are rounded down to whole elements and equal blocks; sizes that become equal are simulated once.
    A barrier takes the same time at every size.
    """
    return [
        {size: nearest.seconds for size in job.sizes if (nearest := _nearest(job, points, size)) is not None}
        for job, points in zip(jobs, run_jobs(jobs, progress), strict=True)
    ]


def _nearest(job: Job, points: Sequence[Point], size: int) -> Point | None:
    """Returns the point to which a size was rounded, if there is one."""
    best = min(points, key=lambda point: abs(point.bytes - size), default=None)
    if not COLLECTIVES[job.collective].has_message:
        return best
    return best if best is not None and (best.bytes >= size or 2 * best.bytes > size) else None


def ping_pong(platform: Platform, sizes: Sequence[int], *, on_node: bool = False) -> dict[int, float]:
    """Returns half the round-trip time by size, between two nodes or between two ranks of one node."""
    nodes, ppn = (1, 2) if on_node else (2, 1)
    arguments = ("--ping-pong", "yes", "--sizes", ",".join(map(str, sizes)))
    task = Task(platform, nodes, ppn, arguments, memory=2 * max(sizes), label="the ping-pong")
    return {one["bytes"]: one["seconds"] for one in run_tasks([task])[0] if one["event"] == "message"}
