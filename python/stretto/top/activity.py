# SPDX-License-Identifier: Apache-2.0
"""The activity of ranks between two samples of their counters, and the rank for which the others wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stretto.top.page import Count, Thread
from stretto.top.reader import Rank, Sample

_CLEAR = 0.15
"""The least difference, as a share of the interval, between the awaited rank's time in collectives and that
of every other rank."""


@dataclass(frozen=True)
class Now:
    """The call that a rank is in."""

    collective: str
    bytes: int
    seconds: float
    """The seconds since the call began."""
    is_longer: bool
    """Whether the call began before a viewer looked, so that it has taken longer than `seconds`."""


@dataclass(frozen=True)
class Rates:
    """Rates of calls of one collective, or of all, in an interval."""

    calls: float
    """Calls per second. The bytes are also per second."""
    bytes: float
    inside: float | None
    """The part of the interval that the rank spent in these calls; None if that was not measured."""


@dataclass(frozen=True)
class RankActivity:
    """The activity of one rank."""

    rank: int
    pid: int
    rates: Rates
    collectives: dict[str, Rates]
    """The rates of the collectives that were called, and of the one that the rank is in."""
    totals: dict[str, Count]
    """The calls and bytes since the job began."""
    now: Now | None
    """The call that began first, if several threads are in a call."""


@dataclass(frozen=True)
class Job:
    """The ranks of one job on this node."""

    ranks: int
    nodes: int
    library: str
    began: float
    command: str
    """The command line of the lowest rank here."""
    here: list[RankActivity]
    number: int = 0
    """A number that no other job on this node has."""
    user: str = ""
    """The user whose job it is; empty for the user who asks."""

    @property
    def awaited(self) -> RankActivity | None:
        """The rank here that spends clearly less of its time in collectives than all others, if any.

        A collective ends for no rank long before the last rank has come, so the others wait for that rank.
        """
        measured = [(one.rates.inside, one) for one in self.here if one.rates.inside is not None]
        if len(measured) < 2 or len(measured) < len(self.here):
            return None
        (least, awaited), (next_one, _) = sorted(measured, key=lambda one: (one[0], one[1].rank))[:2]
        return awaited if next_one - least >= _CLEAR else None


Samples = Mapping[Path, tuple[Rank, Sample]]


def jobs_between(before: Samples, after: Samples) -> list[Job]:
    """Returns the activity of the ranks that are in both samples, by job.

    The user's own jobs come first, and then those of others, of each the latest first.
    """
    ranks: dict[int, list[tuple[Rank, Sample, RankActivity]]] = {}
    for file, (rank, sample) in after.items():
        if file in before and before[file][1].page.began == sample.page.began:
            activity = activity_between(rank.pid, before[file][1], sample)
            ranks.setdefault(sample.page.job, []).append((rank, sample, activity))
    jobs = []
    for members in ranks.values():
        members.sort(key=lambda one: one[2].rank)
        rank, sample, _ = members[0]
        page = sample.page
        activities = [one for _, _, one in members]
        jobs.append(
            Job(
                page.ranks,
                page.nodes,
                page.library,
                page.began,
                rank.command,
                activities,
                page.job,
                rank.user,
            )
        )
    return sorted(jobs, key=lambda one: (one.user != "", -one.began))


def activity_between(pid: int, before: Sample, after: Sample) -> RankActivity:
    """Returns the activity of one rank between two samples."""
    seconds = max((after.at - before.at) / 1e9, 1e-9)
    old, new = _totals(before), _totals(after)
    collectives: dict[str, Rates] = {}
    for name, (count, inside) in new.items():
        earlier, earlier_inside = old.get(name, (Count(), 0))
        rates = Rates(
            (count.calls - earlier.calls) / seconds,
            (count.bytes - earlier.bytes) / seconds,
            None if after.is_first else min(max(inside - earlier_inside, 0) / 1e9 / seconds, 1.0),
        )
        if rates.calls > 0 or (rates.inside or 0) > 0:
            collectives[name] = rates
    every = list(collectives.values())
    inside_all = None if after.is_first else min(sum(one.inside or 0 for one in every), 1.0)
    return RankActivity(
        after.page.rank,
        pid,
        Rates(sum(one.calls for one in every), sum(one.bytes for one in every), inside_all),
        collectives,
        {name: count for name, (count, _) in new.items() if count.calls > 0},
        _now(after),
    )


def _totals(sample: Sample) -> dict[str, tuple[Count, int]]:
    """Returns the counts of all threads and their nanoseconds in collectives, with the current calls."""
    totals: dict[str, tuple[Count, int]] = {}
    for thread in sample.page.threads:
        for name, count in thread.counts.items():
            had, inside = totals.get(name, (Count(), 0))
            inside += count.nanoseconds
            if thread.now == name:
                inside += max(sample.at - (thread.since or thread.watched_from), 0)
            totals[name] = Count(had.calls + count.calls, had.bytes + count.bytes), inside
    return totals


def _now(sample: Sample) -> Now | None:
    inside = [one for one in sample.page.threads if one.now is not None]
    return _now_of(min(inside, key=_beginning), sample.at) if inside else None


def _beginning(thread: Thread) -> int:
    return thread.since or thread.watched_from


def _now_of(thread: Thread, at: int) -> Now:
    seconds = max(at - _beginning(thread), 0) / 1e9
    return Now(thread.now or "", thread.bytes_now, seconds, thread.since == 0)


def busiest(activity: RankActivity) -> str:
    """Returns the collective in which a rank spent most of the interval; empty if there is none."""
    measured: Iterable[tuple[float, str]] = (
        (one.inside or 0.0, name) for name, one in activity.collectives.items()
    )
    return max(measured, default=(0.0, ""))[1]
