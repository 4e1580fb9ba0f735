# SPDX-License-Identifier: Apache-2.0
"""Finds slow collectives and late ranks in the traces of all ranks, and the cost of late ranks.

The time of a collective, from the first arrival to the last end, has two parts. `wait` lasts until the last
rank has arrived; no algorithm can shorten it. `work` is the rest. All times are in microseconds on rank 0's
clock. Ranks of one host read the same clock. Other clocks are known only up to their clock error. So a rank
counts as later than another one only if the difference exceeds both clock errors together, and a collective
whose ranks arrived closer together than that has the times of the ranks of one host.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.support.errors import StrettoError

BLOCKING = "blocking"
# In these collectives, no rank can have its result before every rank has begun.
_NEED_ALL = frozenset({"allreduce", "allgather", "alltoall", "barrier"})


@dataclass(frozen=True, slots=True)
class Call:
    """One rank's call of a collective."""

    rank: int
    clock: int
    """The lowest rank that reads the same clock."""
    clock_error: float
    begin: float
    end: float
    name: str
    spec: str
    form: str
    bytes: int
    communicator: str
    ranks: int
    sequence: int

    def error_against(self, other: Call) -> float:
        """Returns the most by which the time between an event of this call and one of the other is wrong."""
        return 0.0 if self.clock == other.clock else self.clock_error + other.clock_error

    def is_later_than(self, other: Call) -> bool:
        """Whether this call began later than the other, beyond both clock errors."""
        return self.begin - other.begin > self.error_against(other)


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective: the calls of its ranks, in the order of their arrival."""

    calls: tuple[Call, ...]
    timed: tuple[Call, ...]
    """All calls, or if clocks cannot tell when they began, the calls of the host that took longest."""

    @classmethod
    def of(cls, calls: Iterable[Call]) -> Collective:
        """Returns the collective to which the calls belong."""
        ordered = tuple(sorted(calls, key=lambda call: (call.begin, call.rank)))
        return cls(ordered, _comparable(ordered))

    @property
    def is_within_clock_errors(self) -> bool:
        """Whether clocks cannot tell the first arrival from the last."""
        return len(self.timed) < len(self.calls)

    @property
    def last(self) -> Call:
        """The call of the rank that arrived last."""
        return self.calls[-1]

    @property
    def complete(self) -> bool:
        """Whether every rank's call is known."""
        return len(self.calls) == self.last.ranks

    @property
    def begin(self) -> float:
        """The time at which the first rank arrived."""
        return self.calls[0].begin

    @property
    def wait(self) -> float:
        """Time from the first arrival to the last."""
        return self.timed[-1].begin - self.timed[0].begin

    @property
    def work(self) -> float:
        """Time from the last arrival to the last end."""
        return self.total - self.wait

    @property
    def total(self) -> float:
        """Time from the first arrival to the last end."""
        return _length(self.timed)

    @property
    def wait_share(self) -> float:
        """The part of the total that is wait."""
        return self.wait / self.total if self.total > 0 else 0.0

    @property
    def late(self) -> Call | None:
        """The last call, if it is later than every other call beyond clock errors; else None."""
        others = self.calls[:-1]
        return self.last if others and all(map(self.last.is_later_than, others)) else None

    @property
    def lateness(self) -> float | None:
        """The time from the arrival of the median rank to that of the late one; None if there is none."""
        if self.late is None:
            return None
        return self.late.begin - statistics.median(call.begin for call in self.calls)

    def waiting(self, call: Call) -> float:
        """Returns how long a rank waited for the last rank. A broadcast's root may end without waiting."""
        waits = self.last.is_later_than(call) and call.end > self.last.begin
        return self.last.begin - call.begin if waits else 0.0

    @property
    def waited(self) -> float:
        """The time that all ranks together waited for the last rank."""
        return sum(map(self.waiting, self.calls))

    @property
    def waited_alone(self) -> float:
        """The part of `waited` in which only the last rank was missing: the gain if it is on time."""
        if self.late is None:
            return 0.0
        before = self.calls[-2].begin
        return (self.last.begin - before) * sum(self.waiting(call) > 0 for call in self.calls)

    @property
    def contradicts_clocks(self) -> bool:
        """Whether a rank had its result before another rank began, which is impossible with exact clocks."""
        last = self.last
        if last.name not in _NEED_ALL or (last.bytes == 0 and last.name != "barrier"):
            return False
        if last.form != BLOCKING and last.spec == "native":
            return False  # the trace has only the start of the library's calls in the background
        return any(last.begin - call.end > last.error_against(call) for call in self.calls)


def _length(calls: Sequence[Call]) -> float:
    return max(call.end for call in calls) - calls[0].begin


def _comparable(ordered: tuple[Call, ...]) -> tuple[Call, ...]:
    by_clock: dict[int, list[Call]] = defaultdict(list)
    for call in ordered:
        by_clock[call.clock].append(call)
    error = sum(sorted(calls[0].clock_error for calls in by_clock.values())[-2:])
    if len(by_clock) == 1 or ordered[-1].begin - ordered[0].begin > error:
        return ordered
    return max((tuple(calls) for calls in by_clock.values()), key=_length)


def join(calls: Iterable[Call]) -> list[Collective]:
    """Group the calls of all ranks into collectives, ordered by the time at which they begin."""
    groups: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in calls:
        groups[call.communicator, call.sequence].append(call)
    collectives = [Collective.of(group) for group in groups.values()]
    collectives.sort(key=lambda one: (one.begin, one.last.communicator, one.last.sequence))
    for collective in collectives:
        _check(collective)
    return collectives


def _check(collective: Collective) -> None:
    calls = sorted(collective.calls, key=lambda call: call.rank)
    first = calls[0]
    what = f"collective {first.sequence} of communicator {first.communicator}"
    then = "the traces are of different jobs; empty the folder and run the job again"
    for call in calls:
        if (call.name, call.ranks) != (first.name, first.ranks):
            raise StrettoError(
                f"{what} is {first.name} of {first.ranks} ranks on rank {first.rank}, "
                f"but {call.name} of {call.ranks} on rank {call.rank}: {then}"
            )
    if len(calls) > first.ranks:
        raise StrettoError(f"{what} has {first.ranks} ranks, but {len(calls)} calls: {then}")


def slowest(collectives: Sequence[Collective], count: int) -> list[Collective]:
    """Returns the collectives with most `work`, the slowest first."""
    return sorted(collectives, key=lambda one: (-one.work, one.last.communicator, one.last.sequence))[:count]


@dataclass(frozen=True, slots=True)
class Late:
    """The collectives in which a rank was late, and the time that the others waited for it."""

    rank: int | None
    """None for all collectives whose last ranks arrived too close together to tell which was the last."""
    collectives: int
    """The number of collectives in which the rank took part."""
    times: int
    waited: float
    waited_alone: float
    worst: Collective
    """The collective in which the others waited longest."""


def late_ranks(collectives: Sequence[Collective]) -> list[Late]:
    """Returns the late ranks. The ranks for which others waited longest come first."""
    taken_part: dict[int | None, int] = defaultdict(int)
    late: dict[int | None, list[Collective]] = defaultdict(list)
    for collective in collectives:
        for call in collective.calls:
            taken_part[call.rank] += 1
        if collective.waited > 0:
            late[collective.late.rank if collective.late else None].append(collective)
    taken_part[None] = len(collectives)
    found = [
        Late(
            rank,
            taken_part[rank],
            len(own),
            sum(one.waited for one in own),
            sum(one.waited_alone for one in own),
            max(own, key=lambda one: one.waited),
        )
        for rank, own in late.items()
    ]
    return sorted(found, key=lambda one: (-one.waited, -1 if one.rank is None else one.rank))


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals over all collectives."""

    collectives: int
    incomplete: int
    """The number of collectives that lack the trace of a rank."""
    overlapping: int
    """The number of collectives that are not blocking, so that the program may have computed meanwhile."""
    within_clock_errors: int
    """The number of collectives whose first arrival clocks cannot tell from the last."""
    contradictions: int
    """The number of collectives that show that clock errors are larger than stated."""
    inside: dict[int, float]
    """The time of each rank inside collectives. Time in which several overlap counts once."""
    waiting: dict[int, float]
    """The part of `inside` spent waiting for late ranks."""

    @property
    def waiting_share(self) -> float:
        """The share of waiting in all ranks' time inside collectives."""
        inside = sum(self.inside.values())
        return sum(self.waiting.values()) / inside if inside > 0 else 0.0


def sum_up(collectives: Sequence[Collective], ranks: Iterable[int]) -> Totals:
    """Returns the totals of these ranks, which are the ranks that left a trace."""
    inside: dict[int, list[tuple[float, float]]] = {rank: [] for rank in sorted(ranks)}
    waiting: dict[int, list[tuple[float, float]]] = {rank: [] for rank in inside}
    for collective in collectives:
        for call in collective.calls:
            inside[call.rank].append((call.begin, call.end))
            waiting[call.rank].append((call.begin, call.begin + collective.waiting(call)))
    return Totals(
        len(collectives),
        sum(not one.complete for one in collectives),
        sum(one.last.form != BLOCKING for one in collectives),
        sum(one.is_within_clock_errors for one in collectives),
        sum(one.contradicts_clocks for one in collectives),
        {rank: covered(intervals) for rank, intervals in inside.items()},
        {rank: covered(intervals) for rank, intervals in waiting.items()},
    )


def covered(intervals: Iterable[tuple[float, float]]) -> float:
    """Returns the length of the union of the intervals."""
    length = 0.0
    until = float("-inf")
    for begin, end in sorted(intervals):
        if end > until:
            length += end - max(begin, until)
            until = end
    return length
