# SPDX-License-Identifier: Apache-2.0
"""Self-consistent MPI performance guidelines, which any MPI library should keep on any machine.

A guideline `left ≤ right` says that a call should not take longer than other calls that can replace it. If
it does take longer, users would gain by replacing it, and the library should do so itself. The idea is from
Träff, Gropp, Thakur: Self-consistent MPI performance guidelines, IEEE TPDS 21(5), 2010. The list of pairs
is that of Hunold, Carpen-Amarie: Tuning MPI collectives by verifying performance guidelines, 2018, without
pairs whose left side is a collective that Stretto does not handle.

The two sides are measured in turns within one run. Copies between the calls of a right side, and the memory
that they need, are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.results.runs import Run, Series
from stretto.support.estimates import Estimate, estimate_ratio

# Ratios up to this may be noise, or the cost of measuring.
TOLERANCE = 1.03


@dataclass(frozen=True, slots=True)
class Guideline:
    """The rule that `left` takes no longer than `right`, for the same total size n.

    `reduce+bcast` is one call after the other. `allreduce/2` is a call of n/2.
    """

    collective: str
    left: str
    right: str

    @property
    def text(self) -> str:
        """The guideline for people: `allreduce ≤ reduce + bcast`, `allreduce(n) ≤ 2 allreduce(n/2)`."""
        whole = "(n)" if "/" in self.left + self.right else ""
        return f"{_read_side(self.left, whole)} ≤ {_read_side(self.right, whole)}"

    @property
    def mockups(self) -> list[str]:
        """The sides of the guideline other than the collective itself."""
        return [side for side in (self.left, self.right) if side != self.collective]


def _read_side(side: str, whole: str) -> str:
    """Returns a side for people: `reduce + bcast`. `whole` is appended to calls of the whole message."""
    parts = side.split("+")
    names = [
        name + (f"(n/{divisor})" if divisor else whole)
        for name, _, divisor in (part.partition("/") for part in parts)
    ]
    alike = len(names) > 1 and len(set(names)) == 1
    return f"{len(names)} {names[0]}" if alike else " + ".join(names)


# A collective should not be slower than a more general one, or several others, that do its work.
_STANDING_IN = {
    "allreduce": ("reduce+bcast", "reduce_scatter_block+allgather"),
    "bcast": ("scatter+allgather", "allreduce"),
    "reduce": ("allreduce", "reduce_scatter_block+gather"),
    "reduce_scatter": ("allreduce", "reduce+scatterv"),
    "reduce_scatter_block": ("allreduce", "reduce+scatter"),
    "allgather": ("allreduce", "gather+bcast", "alltoall"),
    "allgatherv": ("allreduce", "gatherv+bcast"),
    "alltoall": ("alltoallv",),
    "alltoallv": ("alltoallw",),
    "alltoallw": (),
    "gather": ("gatherv", "allgather", "reduce"),
    "gatherv": ("allgatherv", "reduce"),
    "scatter": ("scatterv", "bcast"),
    "scatterv": ("bcast",),
    "scan": (),
    "exscan": (),
}
STUDIED = tuple(_STANDING_IN)
"""The collectives whose messages have a size."""
USUAL = ("allreduce", "bcast", "reduce", "reduce_scatter", "reduce_scatter_block", "allgather")
"""The collectives whose guidelines are checked if the user names none."""


def guidelines(collective: str) -> list[Guideline]:
    """Returns a collective's guidelines: replacements, monotony, and that splitting does not gain time."""
    half = f"{collective}/2"
    return [
        *(Guideline(collective, collective, right) for right in _STANDING_IN[collective]),
        Guideline(collective, half, collective),
        Guideline(collective, collective, f"{half}+{half}"),
    ]


def mockups(collective: str) -> list[str]:
    """Returns the calls to measure beside the collective, without repetitions."""
    return list(dict.fromkeys(side for one in guidelines(collective) for side in one.mockups))


@dataclass(frozen=True, slots=True)
class Check:
    """A guideline checked at one size with one spec."""

    guideline: Guideline
    bytes: int
    spec: str
    left: Series
    right: Series
    ratio: Estimate
    """Paired ratio of the left side's time to the right side's; should be at most 1."""

    @property
    def violated(self) -> bool:
        """Whether the whole interval is above the tolerance."""
        return self.ratio.low > TOLERANCE

    @property
    def text(self) -> str:
        """The ratio with the specs chosen on both sides, for people."""
        return (
            f"{self.guideline.text}: {self.left.chosen} takes {self.ratio.text()} times as long as "
            f"{self.right.chosen}"
        )


def check(run: Run) -> list[Check]:
    """Check the guidelines of a run's collective whose sides were both measured, by size and spec."""
    found = {(one.bytes, one.spec, one.mockup): one for one in run.series}
    name = run.collective.name
    checks = []
    for size, spec in dict.fromkeys((one.bytes, one.spec) for one in run.series):
        for guideline in guidelines(name):
            left, right = (
                found.get((size, spec, "" if side == name else side))
                for side in (guideline.left, guideline.right)
            )
            if left and right:
                ratio = estimate_ratio(left.seconds, right.seconds)
                checks.append(Check(guideline, size, spec, left, right, ratio))
    return checks


def violations(checks: Iterable[Check], spec: str) -> list[Check]:
    """Returns the checks whose guideline is violated by a spec."""
    return [one for one in checks if one.spec == spec and one.violated]


def sizes_of(checks: Sequence[Check]) -> list[int]:
    """Returns the measured sizes in ascending order."""
    return sorted({one.bytes for one in checks})
