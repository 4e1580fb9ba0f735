# SPDX-License-Identifier: Apache-2.0
"""Self-consistent MPI performance guidelines: what a user may expect of any MPI library on any machine.

A guideline `left ≤ right` says that one call should not take longer than others that could stand for it: if
it does, a user would gain by replacing it, which the library should have done. From Träff, Gropp, Thakur:
Self-consistent MPI performance guidelines, IEEE TPDS 21(5), 2010; the list of pairs as in Hunold,
Carpen-Amarie: Tuning MPI collectives by verifying performance guidelines, 2018, without those that need
collectives that Stretto does not take over on the left.

Both sides are measured in turns within one run. The copies that a program would need between the calls of a
right side are not counted, nor is the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.results.runs import Run, Series
from stretto.support.estimates import Estimate, estimate_ratio

# What is no more than this may be noise, or the price of asking.
TOLERANCE = 1.03


@dataclass(frozen=True, slots=True)
class Guideline:
    """That `left` takes no longer than `right`, both for the same total size n: `reduce+bcast` is one call
    after the other, `allreduce/2` one of n/2.
    """

    collective: str
    left: str
    right: str

    @property
    def text(self) -> str:
        """As people read it: `allreduce ≤ reduce + bcast`, `allreduce(n) ≤ 2 allreduce(n/2)`."""
        whole = "(n)" if "/" in self.left + self.right else ""
        return f"{_read_side(self.left, whole)} ≤ {_read_side(self.right, whole)}"

    @property
    def mockups(self) -> list[str]:
        """Its sides that are not just the collective."""
        return [side for side in (self.left, self.right) if side != self.collective]


def _read_side(side: str, whole: str) -> str:
    """`reduce + bcast`; `whole` stands after what takes the whole message."""
    parts = side.split("+")
    names = [
        name + (f"(n/{divisor})" if divisor else whole)
        for name, _, divisor in (part.partition("/") for part in parts)
    ]
    alike = len(names) > 1 and len(set(names)) == 1
    return f"{len(names)} {names[0]}" if alike else " + ".join(names)


# A collective is no slower than a more general one that does its work, or several others that do.
_STANDING_IN = {
    "allreduce": ("reduce+bcast", "reduce_scatter_block+allgather"),
    "bcast": ("scatter+allgather", "allreduce"),
    "reduce": ("allreduce", "reduce_scatter_block+gather"),
    "reduce_scatter": ("allreduce", "reduce+scatterv"),
    "reduce_scatter_block": ("allreduce", "reduce+scatter"),
    "allgather": ("allreduce", "gather+bcast", "alltoall"),
}


def guidelines(collective: str) -> list[Guideline]:
    """Those with the collective on the left: what stands for it, monotony, that splitting is no gain."""
    half = f"{collective}/2"
    return [
        *(Guideline(collective, collective, right) for right in _STANDING_IN[collective]),
        Guideline(collective, half, collective),
        Guideline(collective, collective, f"{half}+{half}"),
    ]


def mockups(collective: str) -> list[str]:
    """What must be measured beside the collective, each once."""
    return list(dict.fromkeys(side for one in guidelines(collective) for side in one.mockups))


@dataclass(frozen=True, slots=True)
class Check:
    """One guideline at one size, by one spec."""

    guideline: Guideline
    bytes: int
    spec: str
    left: Series
    right: Series
    ratio: Estimate
    """Time of the left side by that of the right one, in pairs: to be 1 or less."""

    @property
    def violated(self) -> bool:
        """Beyond noise: the whole interval is above what is tolerated."""
        return self.ratio.low > TOLERANCE

    @property
    def text(self) -> str:
        """What was found, with what was chosen on either side."""
        return (
            f"{self.guideline.text}: {self.left.chosen} takes {self.ratio.median:.2f} "
            f"({self.ratio.low:.2f}-{self.ratio.high:.2f}) times as long as {self.right.chosen}"
        )


def check(run: Run) -> list[Check]:
    """The guidelines of the run's collective, by size and spec, of which both sides were measured."""
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
    """Those that are violated by a spec."""
    return [one for one in checks if one.spec == spec and one.violated]


def sizes_of(checks: Sequence[Check]) -> list[int]:
    """The sizes that were measured, ascending."""
    return sorted({one.bytes for one in checks})
