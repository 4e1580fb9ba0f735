# SPDX-License-Identifier: Apache-2.0
"""A reproduced figure: its panels, and the paper's claims about it with a verdict on each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stretto.plots.panels import Panel
from stretto_research.simulate.jobs import Job, seconds_of
from stretto_research.simulate.smpi import Progress


class Verdict(StrEnum):
    """Whether a claim was reproduced."""

    AGREES = "agrees"
    PARTLY = "partly"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class Claim:
    """A paper's statement about a figure, and the reproduced result."""

    reported: str
    came_out: str
    verdict: Verdict
    why: str = ""
    """The reason, if the result does not agree with the claim."""


def judged(reported: str, came_out: str, holds: bool, *, partly: bool = False, why: str = "") -> Claim:
    """Return a claim with its verdict; `why` is kept unless the claim holds."""
    verdict = Verdict.AGREES if holds else Verdict.PARTLY if partly else Verdict.DIFFERS
    return Claim(reported, came_out, verdict, "" if holds else why)


@dataclass(frozen=True, slots=True)
class Result:
    """The panels and claims of one reproduced figure."""

    panels: Sequence[Panel]
    claims: Sequence[Claim]
    columns: int = 2
    """Panels beside each other."""
    remark: str = ""
    """A line below the figure about how it was made."""


@dataclass(slots=True)
class Bench:
    """Runs the simulations of figures and reports progress."""

    quick: bool = False
    """Fewer sizes and ranks, for CI."""
    progress: Progress | None = None

    def seconds(self, jobs: Sequence[Job]) -> list[dict[int, float]]:
        """Return the seconds of each job, by size."""
        return seconds_of(jobs, self.progress)

    def sizes(self, first: int, last: int, factor: int = 2) -> tuple[int, ...]:
        """Return sizes from `first` to `last`, each `factor` times the one before (factor**4 if quick)."""
        step = factor**4 if self.quick else factor
        sizes = []
        size = first
        while size <= last:
            sizes.append(size)
            size *= step
        return tuple(sizes)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, or table, of a paper."""

    paper: str
    """`pipelined`, `training` or `node-aware`; `models` for Stretto's own."""
    number: str
    """The number in the paper: `fig5`, `table1`."""
    title: str
    make: Callable[[Bench], Result]
    in_ci: bool = False
    """Whether the short subset contains the figure."""

    @property
    def name(self) -> str:
        """Return the full name: `pipelined/fig5`."""
        return f"{self.paper}/{self.number}"

    @property
    def heading(self) -> str:
        """Return the title above the picture."""
        of_paper = self.paper in ("pipelined", "training", "node-aware")
        return f"{self.title} ({self.paper} paper, {self.number})" if of_paper else self.title


@dataclass(frozen=True, slots=True)
class Made:
    """A figure that was made and drawn."""

    figure: Figure
    result: Result
    file: Path
    seconds: float
    """The time that this took."""


PAPERS = {
    "pipelined": "Castelló, Quintana-Ortí, Duato: Accelerating distributed deep neural network training with "
    "pipelined MPI allreduce (2021)",
    "training": "Castelló, Catalán, Dolz, Quintana-Ortí, Duato: Analyzing the impact of the MPI allreduce in "
    "distributed training of convolutional neural networks (2023)",
    "node-aware": "Bienz, Olson, Gropp: Node-aware improvements to allreduce (2019)",
    "models": "Not from the papers: the models against each other",
}
