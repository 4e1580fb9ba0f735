# SPDX-License-Identifier: Apache-2.0
"""The measurements, and the figures from them: gain over the baseline, regret against the best.

The baseline is the MPI default or, without an MPI library, the built-in rule.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE, SOCKETS
from stretto.support.estimates import Estimate, speedup

SLOWER = 1.03
"""The ratio of times from which on a call counts as slower, as for violated guidelines."""


_MPI_DEFAULT = "the MPI default"
_RULE = "the built-in rule"

EARLY = (10, 30, 100)
"""The numbers of first calls of a job that are counted together."""
LEAST_OF_EARLY = 1e-3
"""First calls are counted only if the best spec takes at least this many seconds."""


@dataclass(frozen=True)
class Cell:
    """The calls of one size in one job. Samples of the same index belong together."""

    bytes: int
    chosen: str
    """The choice of the built-in rule or, without an MPI library, of the model. The guard may leave it."""
    samples: dict[str, list[float]]
    """Seconds of a call by spec, the baseline and `auto` among them."""
    first: list[float] = field(default_factory=list)
    """Seconds of the first calls of the job by Stretto's default."""
    second: list[float] = field(default_factory=list)
    """Seconds of the first calls of a second job, which knows what the first one has found."""
    rule: str = ""
    """The spec of the built-in rule, if there is no MPI library."""

    def median(self, spec: str) -> float:
        """Median seconds of a spec."""
        return statistics.median(self.samples[spec])

    @property
    def baseline(self) -> str:
        """The spec with which Stretto's default is compared: the MPI default, or the built-in rule's."""
        return self.rule or NATIVE

    @property
    def baseline_seconds(self) -> float:
        """Median seconds of the baseline."""
        return self.median(self.baseline)

    @property
    def auto(self) -> float:
        """Median seconds of Stretto's default."""
        return self.median(STRETTO)

    @functools.cached_property
    def best(self) -> str:
        """The spec with the smallest median, the baseline and Stretto's default included."""
        return min(self.samples, key=self.median)

    @functools.cached_property
    def gain(self) -> Estimate:
        """How many times faster than the baseline Stretto's default is, by paired samples."""
        return speedup(self.samples[self.baseline], self.samples[STRETTO])

    @property
    def is_slower(self) -> bool:
        """Whether Stretto's default is slower than the baseline by 3 %, beyond the 95 % interval."""
        return self.gain.high < 1 / SLOWER

    def regret(self, spec: str = STRETTO) -> float:
        """How much longer a spec takes than the best, as a fraction of the best time."""
        return self.median(spec) / self.median(self.best) - 1

    def early_regret(self, calls: int, *, second: bool = False) -> float | None:
        """The regret of all first calls of a job together, finding out included; None if it is not known.

        First calls are timed one by one, but the best spec in rows, so shorter calls cannot be compared.
        """
        seconds = self.second if second else self.first
        best = self.median(self.best)
        if len(seconds) < calls or best < LEAST_OF_EARLY:
            return None
        return sum(seconds[:calls]) / (calls * best) - 1


@dataclass(frozen=True)
class Job:
    """One job: one collective of one MPI library, or without one, on one network."""

    network: str
    mpi: str
    collective: str
    library: str = ""
    """The text of MPI_Get_library_version."""
    ppn: list[int] = field(default_factory=list)
    """Ranks of each node."""
    cells: list[Cell] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)
    """Sizes for which there was no time."""
    error: str = ""
    """Why it ended early; empty if it did not."""
    seconds: float = 0.0
    """How long it took, its start included."""
    date: str = ""
    load: dict[str, Any] = field(default_factory=dict)
    """The load of the machine meanwhile (support.machine_load)."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The properties that distinguish jobs: network, MPI library, collective."""
        return self.network, self.mpi, self.collective

    @property
    def has_library(self) -> bool:
        """Whether it has an MPI library, so that there is an MPI default."""
        return self.mpi != SOCKETS

    @property
    def title(self) -> str:
        """Its key for people."""
        return f"{self.collective}, {self.mpi}, {self.network}"


@dataclass(frozen=True)
class Spot:
    """One cell, and the job that it belongs to."""

    job: Job
    cell: Cell


@dataclass(frozen=True)
class Summary:
    """The figures of many cells, which all have an MPI library or all have none."""

    spots: Sequence[Spot]
    baseline_regret: float
    """The mean regret of the baseline."""
    regret: float
    """The mean regret of Stretto's default."""
    worst: Spot
    """The largest regret of Stretto's default."""
    gain: float
    """The geometric mean of the gains over the baseline."""
    slowest: Spot
    """The smallest gain over the baseline."""

    def early_regret(self, calls: int, *, second: bool = False) -> float | None:
        """The mean regret of this number of first calls of a job, over the cells where it is known."""
        known = [spot.cell.early_regret(calls, second=second) for spot in self.spots]
        found = [one for one in known if one is not None]
        return statistics.mean(found) if found else None

    @property
    def slower(self) -> list[Spot]:
        """The cells at which Stretto's default is slower than the baseline (Cell.is_slower)."""
        return [spot for spot in self.spots if spot.cell.is_slower]


def summarize(jobs: Iterable[Job]) -> Summary | None:
    """The figures of all cells of the jobs; None if there are none."""
    spots = [Spot(job, cell) for job in jobs for cell in job.cells]
    if not spots:
        return None
    return Summary(
        spots,
        statistics.mean(spot.cell.regret(spot.cell.baseline) for spot in spots),
        statistics.mean(spot.cell.regret() for spot in spots),
        max(spots, key=lambda spot: spot.cell.regret()),
        mean_gain([spot.cell for spot in spots]),
        min(spots, key=lambda spot: spot.cell.gain.median),
    )


def by_baseline(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs with an MPI library and the jobs without one, without empty lists."""
    both = ([job for job in jobs if job.has_library is has_library] for has_library in (True, False))
    return [some for some in both if some]


def baselines(jobs: Sequence[Job]) -> str:
    """The baseline of Stretto's default, in words."""
    match [some[0].has_library for some in by_baseline(jobs)]:
        case [True, False]:
            return f"{_MPI_DEFAULT} ({SOCKETS}: {_RULE})"
        case [False]:
            return _RULE
    return _MPI_DEFAULT


def mean_gain(cells: Iterable[Cell]) -> float:
    """The geometric mean of the gains over the baseline."""
    return statistics.geometric_mean(cell.gain.median for cell in cells)
