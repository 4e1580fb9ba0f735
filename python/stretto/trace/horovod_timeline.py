# SPDX-License-Identifier: Apache-2.0
"""Reads the timeline that Horovod's rank 0 writes (HOROVOD_TIMELINE, with HOROVOD_TIMELINE_MARK_CYCLES=1).

The timeline is a list of Chrome trace events. A killed job does not close the list. Each tensor has its own
process id. NEGOTIATE_ALLREDUCE of a tensor ends when the background thread finds that all workers have the
tensor. Then ALLREDUCE begins, and inside it MPI_ALLREDUCE, at the same time for all tensors of a message.
The end event of ALLREDUCE has the tensor's type and shape.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stretto.support.errors import StrettoError

_NEGOTIATION, _WHOLE = "NEGOTIATE_ALLREDUCE", "ALLREDUCE"
_CYCLE = "CYCLE_START"
_MICROSECOND = 1e-6
_FEWEST_STEPS = 3
"""The least number of steps: the begin of the first is unknown, and a median needs several values."""
_ELEMENT = re.compile(r"[a-z]*?(\d+)")


@dataclass(frozen=True, slots=True)
class Seen:
    """One allreduce of a tensor; times are in seconds."""

    after: float
    """The time of the last cycle in which not all workers had the tensor."""
    by: float
    """The time of the first cycle in which all workers had the tensor."""
    end: float

    @property
    def ready(self) -> float:
        """The estimated time at which all workers had the tensor: halfway between the two cycles."""
        return (self.after + self.by) / 2


@dataclass(slots=True)
class Timeline:
    """The allreduces of a job."""

    tensors: dict[str, list[Seen]] = field(default_factory=lambda: defaultdict(list))
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes by tensor."""
    messages: list[list[str]] = field(default_factory=list)
    """The tensors of each merged allreduce."""


@dataclass(frozen=True, slots=True)
class ReadyGradient:
    """A gradient, and the time in a step at which it is ready."""

    name: str
    bytes: int
    ready: float
    """Seconds from the start of a step, as the median over steps."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a training. A step begins when all gradients of the step before have been summed."""

    count: int
    seconds: float
    """Length of a step, as the median over steps."""
    uncertainty: float
    """Half the time between two cycles, as the median over gradients and steps."""
    gradients: list[ReadyGradient]
    """The gradients in the order in which they become ready."""
    messages: dict[int, float]
    """Messages per step, by bytes."""


def read_timeline(file: Path) -> Timeline:
    """Read a timeline. Raises StrettoError for any other file."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise StrettoError(f"{file} could not be read: {error.strerror}") from None
    events = _parse(text)
    if events is None:
        raise StrettoError(f"{file} is not a timeline by Horovod: expected a list of trace events")
    return _interpret(events)


def _parse(text: str) -> list[dict[str, Any]] | None:
    text = text.strip()
    whole = text.rfind("}") + 1
    for candidate in (text, text[:whole] + "]"):
        try:
            events = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return events if isinstance(events, list) and all(isinstance(one, dict) for one in events) else None
    return None


@dataclass(slots=True)
class _Open:
    """The events of a tensor that have begun but not ended."""

    names: list[str] = field(default_factory=list)
    agreed: float | None = None


def _interpret(events: Sequence[dict[str, Any]]) -> Timeline:
    names = {
        one["pid"]: one["args"]["name"]
        for one in events
        if one.get("name") == "process_name" and "name" in one.get("args", {})
    }
    cycles = sorted(_time(one) for one in events if one.get("name") == _CYCLE)
    timeline = Timeline()
    open_: dict[int, _Open] = defaultdict(_Open)
    message: list[str] = []
    for event in events:
        tensor = names.get(event.get("pid", -1))
        if tensor is None:
            continue
        state = open_[event["pid"]]
        if event.get("ph") == "B":
            state.names.append(event["name"])
            if _is_message(event["name"]):
                message.append(tensor)
        elif event.get("ph") == "E" and state.names:
            name = state.names.pop()
            if _is_message(name) and message:
                timeline.messages.append(message)
                message = []
            elif name == _NEGOTIATION:
                state.agreed = _time(event)
            elif name == _WHOLE and state.agreed is not None:
                timeline.sizes[tensor] = _bytes(event.get("args", {}))
                timeline.tensors[tensor].append(_seen(cycles, state.agreed, _time(event)))
    return timeline


def _is_message(name: str) -> bool:
    return name.endswith("_" + _WHOLE) and name != _NEGOTIATION


def _time(event: dict[str, Any]) -> float:
    return float(event["ts"]) * _MICROSECOND


def _seen(cycles: Sequence[float], agreed: float, end: float) -> Seen:
    """Returns the cycles around the agreement; without marks of cycles, the time of the agreement."""
    place = bisect_right(cycles, agreed)
    if place < 2:
        return Seen(agreed, agreed, end)
    return Seen(cycles[place - 2], cycles[place - 1], end)


def _bytes(about: dict[str, Any]) -> int:
    """Returns the bytes of a tensor, from texts such as `float32` and `[3, 3, 8, 16]`."""
    match = _ELEMENT.fullmatch(str(about.get("dtype", "")))
    element = max(1, int(match[1]) // 8) if match else 1
    return element * math.prod(int(one) for one in re.findall(r"\d+", str(about.get("shape", ""))))


def steps_of(timeline: Timeline) -> Steps | None:
    """Returns the training steps in a timeline; None if there are too few.

    Gradients are the tensors that occur as often as most tensors do: once per step.
    """
    often = Counter(len(seen) for seen in timeline.tensors.values())
    if not often:
        return None
    count = max(often, key=lambda times: (often[times], times))
    gradients = {name: seen for name, seen in timeline.tensors.items() if len(seen) == count}
    if count < _FEWEST_STEPS:
        return None
    ends = [max(seen[step].end for seen in gradients.values()) for step in range(count)]
    ready = {
        name: statistics.median(max(0.0, seen[step].ready - ends[step - 1]) for step in range(1, count))
        for name, seen in gradients.items()
    }
    return Steps(
        count - 1,
        statistics.median(ends[step] - ends[step - 1] for step in range(1, count)),
        statistics.median((one.by - one.after) / 2 for seen in gradients.values() for one in seen[1:]),
        [
            ReadyGradient(name, timeline.sizes[name], ready[name])
            for name in sorted(ready, key=ready.__getitem__)
        ],
        _messages_of_a_step(timeline, set(gradients), count),
    )


def _messages_of_a_step(timeline: Timeline, gradients: set[str], count: int) -> dict[int, float]:
    sizes = Counter(
        sum(timeline.sizes.get(name, 0) for name in message)
        for message in timeline.messages
        if gradients.issuperset(message)
    )
    return {size: sizes[size] / count for size in sorted(sizes)}
