# SPDX-License-Identifier: Apache-2.0
"""The copies, messages and reductions of one rank in one call, and the overlap between them.

Messages are represented by rounds: a round lasts from the time at which the rank could post its messages to
the end of the last of them. All times are in microseconds. The times of spans count from the beginning of
the call.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stretto.spec.native import NATIVE
from stretto.support.errors import StrettoError
from stretto.trace.analysis import Call, Collective, covered
from stretto.trace.files import RankTrace

_ROWS_OF_A_CALL = 1000
"""The rows of a call: its own, the rows of flights, and at the end two rows of copies (docs/formats.md)."""
_COPY = '"cat":"copy"'
"""The text by which the event of a copy is recognized."""


class Span(NamedTuple):
    """An interval, and the part of the call on which the rank spent it."""

    begin: float
    end: float
    segment: int | None = None
    """None stands for the whole call."""
    part: int | None = None
    """For a copy, the part of its segment (None stands for all of it); for other spans, the round."""
    row: int = 0
    """For rounds, waits and reductions, the flight that carried the segment."""


class Copy(NamedTuple):
    """A copy between device and host memory."""

    span: Span
    """The interval in which the copy may have run: earlier copies in its direction had ended."""
    begun: float
    """The time at which the rank began the copy."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """One rank's call."""

    call: Call
    to_host: list[Copy] = field(default_factory=list)
    to_device: list[Copy] = field(default_factory=list)
    rounds: list[Span] = field(default_factory=list)
    waits: list[Span] = field(default_factory=list)
    """Intervals in which a flight had nothing to send, since its copies had not arrived."""
    reductions: list[Span] = field(default_factory=list)

    @property
    def time(self) -> float:
        """The duration of the call."""
        return self.call.end - self.call.begin

    @property
    def segments(self) -> int:
        """The number of segments that are known."""
        known = [span.segment for span in self.rounds] + [copy.span.segment for copy in self.copies]
        return 1 + max((one for one in known if one is not None), default=-1)

    @property
    def copies(self) -> list[Copy]:
        """The copies in both directions."""
        return [*self.to_host, *self.to_device]

    @property
    def is_by_library(self) -> bool:
        """Whether the MPI library carried the call out, so that its messages are not known."""
        return not self.rounds and (bool(self.copies) or self.call.spec == NATIVE)

    @property
    def messages(self) -> list[Span]:
        """The rounds, or the time that the MPI library had between the copies."""
        if not self.is_by_library:
            return self.rounds
        begin = max((copy.span.end for copy in self.to_host), default=0.0)
        end = min((copy.begun for copy in self.to_device), default=self.time)
        return [Span(begin, max(begin, end))]

    @property
    def figures(self) -> Figures:
        """The time that the rank spent on each part. Time in which spans of a kind overlap counts once."""
        copies = [copy.span for copy in self.copies]
        messages = self.messages
        either = _covered([*copies, *messages])
        return Figures(
            self.time,
            _covered(copy.span for copy in self.to_host),
            _covered(copy.span for copy in self.to_device),
            _covered(copies),
            _covered(messages),
            _covered(self.reductions),
            _covered(copies) + _covered(messages) - either,
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """The microseconds that a rank spent on each part of a call."""

    call: float
    to_host: float
    to_device: float
    copies: float
    """The time of copies in either direction."""
    messages: float
    reductions: float
    both: float
    """The time in which copies and messages overlapped."""

    @property
    def overlap(self) -> float:
        """The share of the call in which copies and messages overlapped."""
        return self.both / self.call if self.call > 0 else 0.0


def _covered(spans: Iterable[Span]) -> float:
    return covered((span.begin, span.end) for span in spans)


def choose_calls(collectives: Sequence[Collective], names: Sequence[str]) -> list[Collective]:
    """Returns the collectives of these names: a sequence number, or with a communicator, `3:8@1f3a.0`."""
    return [_find(collectives, name) for name in names]


def _find(collectives: Sequence[Collective], name: str) -> Collective:
    number, colon, communicator = name.partition(":")
    found = [
        one
        for one in collectives
        if str(one.last.sequence) == number and (not colon or one.last.communicator == communicator)
    ]
    if not found:
        raise StrettoError(
            f"--call {name}: no collective has that number; the table and trace.json name them"
        )
    if len(found) > 1:
        labels = ", ".join(f"{number}:{one.last.communicator}" for one in found[:3])
        raise StrettoError(f"--call {name}: {len(found)} collectives have that number; give one of {labels}")
    return found[0]


def usual_calls(collectives: Sequence[Collective], traces: Sequence[RankTrace]) -> list[Collective]:
    """Returns the last call of each spec whose calls copied device memory, or the call with most work.

    The latter is returned if no call made copies. The trace has no messages of calls that the MPI library
    carried out, so other calls are preferred.
    """
    copies = {trace.rank: [event.key[0] for event in trace.events if _COPY in event.text] for trace in traces}

    def copied(call: Call) -> bool:
        begins = copies[call.rank]
        return bisect_left(begins, call.begin) < bisect_right(begins, call.end)

    found = {one.last.spec: one for one in collectives if any(map(copied, one.calls))}
    return (
        list(found.values()) or sorted(collectives, key=lambda one: (one.last.spec == NATIVE, -one.work))[:1]
    )


def timelines(
    collectives: Sequence[Collective], traces: Sequence[RankTrace], ranks: Sequence[int]
) -> list[Timeline]:
    """Returns the timelines of these ranks in these collectives.

    If no ranks are given, the first rank that made copies is taken, or else the first rank.
    """
    if not collectives:
        raise StrettoError("the trace has no collective to describe")
    by_rank = {trace.rank: trace for trace in traces}
    found = []
    for one in collectives:
        calls = sorted(one.calls, key=lambda call: call.rank)
        missing = sorted(set(ranks) - {call.rank for call in calls})
        if missing:
            raise StrettoError(
                f"--rank {missing[0]}: the trace has no {one.last.name} {one.last.sequence} of it"
            )
        if ranks:
            found += [timeline_of(by_rank[call.rank], call) for call in calls if call.rank in ranks]
            continue
        every = [timeline_of(by_rank[call.rank], call) for call in calls]
        found.append(next((each for each in every if each.copies), every[0]))
    return found


def timeline_of(trace: RankTrace, call: Call) -> Timeline:
    """Returns the timeline of a rank's call."""
    events = [event for event in _between(trace, call) if event.get("ph") == "X"]
    try:
        return _interpret(call, events)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise StrettoError(
            f"{trace.path}: an event inside {call.name} {call.sequence} has an unknown form"
        ) from None


def _between(trace: RankTrace, call: Call) -> Iterator[dict[str, Any]]:
    first = bisect_left(trace.events, call.begin, key=lambda event: event.key[0])
    last = bisect_right(trace.events, call.end, key=lambda event: event.key[0])
    for event in trace.events[first:last]:
        yield json.loads(event.text)


def _interpret(call: Call, events: Sequence[dict[str, Any]]) -> Timeline:
    own = next(
        event["tid"] for event in events if event["cat"] == "collective" and _is_of(event["args"], call)
    )
    mine = [event for event in events if own < event["tid"] < own + _ROWS_OF_A_CALL]

    def of(category: str) -> Iterator[tuple[dict[str, Any], float, float]]:
        for event in mine:
            if event["cat"] == category:
                begin = event["ts"] - call.begin
                yield event, begin, begin + event["dur"]

    segment_at = _segments([(event["tid"], begin, event["name"]) for event, begin, _ in of("segment")])
    found = Timeline(call)
    for category, spans in (("round", found.rounds), ("wait", found.waits), ("reduction", found.reductions)):
        for event, begin, end in of(category):
            row = event["tid"]
            round_number = int(event["name"].split()[1]) if category == "round" else None
            spans.append(Span(begin, end, segment_at(row, begin), round_number, row - own - 1))
    for event, begin, end in of("copy"):
        more = event["args"]
        span = Span(begin, end, more.get("segment"), more.get("part"))
        copies = found.to_host if more["to"] == "host" else found.to_device
        copies.append(Copy(span, more["begun_us"] - call.begin, more["bytes"]))
    return found


def _is_of(more: dict[str, Any], call: Call) -> bool:
    return (more["communicator"], more["sequence"]) == (call.communicator, call.sequence)


def _segments(begins: Sequence[tuple[int, float, str]]) -> Callable[[int, float], int]:
    """Returns a function that finds the segment that a row carried at a time."""
    rows: dict[int, list[tuple[float, int]]] = {}
    for row, begin, name in sorted(begins):
        rows.setdefault(row, []).append((begin, int(name.split()[1])))

    def at(row: int, time: float) -> int:
        return rows[row][bisect_right(rows[row], time, key=lambda segment: segment[0]) - 1][1]

    return at


def timeline_json(timeline: Timeline) -> dict[str, Any]:
    """Returns the figures of a call, with the bytes that it copied."""
    its, call = timeline.figures, timeline.call
    return {
        "rank": call.rank,
        "collective": call.name,
        "sequence": call.sequence,
        "communicator": call.communicator,
        "call_us": its.call,
        "to_host_us": its.to_host,
        "to_device_us": its.to_device,
        "copies_us": its.copies,
        "messages_us": its.messages,
        "reductions_us": its.reductions,
        "both_us": its.both,
        "overlap": its.overlap,
        "copied_to_host": sum(copy.bytes for copy in timeline.to_host),
        "copied_to_device": sum(copy.bytes for copy in timeline.to_device),
    }
