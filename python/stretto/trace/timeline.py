# SPDX-License-Identifier: Apache-2.0
"""What one rank did in one call, and how much of it at once: copies, messages, reductions.

Messages are rounds: from when the rank could post the messages of a round to when the last of them had
ended. All times are in microseconds. Those of spans count from the beginning of the call.
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
"""A call has these rows: its own, those of its flights, and in the end two of copies (docs/formats.md)."""
_COPY = '"cat":"copy"'
"""In the text of an event."""


class Span(NamedTuple):
    """A time, and what of the call it was spent on."""

    begin: float
    end: float
    segment: int | None = None
    """None: all of the call."""
    part: int | None = None
    """Of a copy, the part of its segment (None: all of it); of anything else, the round."""
    row: int = 0
    """Of rounds, waits and reductions: the flight that carried the segment."""


class Copy(NamedTuple):
    """A copy between device and host memory."""

    span: Span
    """The time in which it may have run: others of its direction had ended."""
    begun: float
    """When the rank began it."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """One rank's call."""

    call: Call
    to_host: list[Copy] = field(default_factory=list)
    to_device: list[Copy] = field(default_factory=list)
    rounds: list[Span] = field(default_factory=list)
    waits: list[Span] = field(default_factory=list)
    """Flights had nothing to send: their copies had not arrived."""
    reductions: list[Span] = field(default_factory=list)

    @property
    def time(self) -> float:
        """How long the call took."""
        return self.call.end - self.call.begin

    @property
    def segments(self) -> int:
        """How many segments are known."""
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
        """How long the rank did what. Where several spans of a kind overlap, time counts once."""
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
    """The seconds that a rank spent on each part of a call."""

    call: float
    to_host: float
    to_device: float
    copies: float
    """In either direction."""
    messages: float
    reductions: float
    both: float
    """Copies and messages at once."""

    @property
    def overlap(self) -> float:
        """The share of the call in which copies and messages were under way at once."""
        return self.both / self.call if self.call > 0 else 0.0


def _covered(spans: Iterable[Span]) -> float:
    return covered((span.begin, span.end) for span in spans)


def choose_calls(collectives: Sequence[Collective], names: Sequence[str]) -> list[Collective]:
    """The collectives of these names: a sequence number, or that and a communicator, `3:8@1f3a.0`."""
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
    """The last call of each spec whose calls copied device memory; if none did, the one with most work.

    The trace has no messages of a call that the MPI library carried out, so another one is preferred.
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
    """What these ranks did in these collectives; no ranks: the first one that copied, or the first one."""
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
    """What a rank did in its call."""
    events = [event for event in _between(trace, call) if event.get("ph") == "X"]
    try:
        return _interpret(call, events)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise StrettoError(
            f"{trace.path}: an event inside of {call.name} {call.sequence} is not as Stretto writes it"
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
    """A function that says which segment a row carried at a time."""
    rows: dict[int, list[tuple[float, int]]] = {}
    for row, begin, name in sorted(begins):
        rows.setdefault(row, []).append((begin, int(name.split()[1])))

    def at(row: int, time: float) -> int:
        return rows[row][bisect_right(rows[row], time, key=lambda segment: segment[0]) - 1][1]

    return at


def timeline_json(timeline: Timeline) -> dict[str, Any]:
    """The figures of a call, and its copies."""
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
