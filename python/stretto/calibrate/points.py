# SPDX-License-Identifier: Apache-2.0
"""What a calibration measured: the measuring program's events (src/bench/calibration/phases/phases.hpp)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from stretto.results.runs import parse_event
from stretto.support.errors import StrettoError

_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Points:
    """The samples of one case, in seconds."""

    what: str
    about: dict[str, Any]
    """What the case is beside that: level, bytes, …"""
    passes: list[list[float]] = field(default_factory=list)
    """By the pass over all cases in which they were taken: what comes and goes is not in all of them."""

    @property
    def key(self) -> Hashable:
        """No other case of a calibration has the same."""
        return self.what, frozenset(self.about.items())

    @property
    def bytes(self) -> int:
        """Of a message, or of a vector."""
        return int(self.about["bytes"])

    @property
    def seconds(self) -> list[float]:
        """Those of all passes."""
        return [second for part in self.passes for second in part]

    def to_json(self) -> dict[str, Any]:
        """For a machine file's notes."""
        passes = [[float(f"{one:.{_DIGITS}g}") for one in part] for part in self.passes]
        return {"what": self.what, **self.about, "seconds": passes}


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """What else went on on a node."""

    host: str
    cores: float
    busy: float
    """Cores that were busy while all ranks slept."""
    stolen: float
    """Part of the time since the look before that a hypervisor gave to others."""
    load: float
    """Load average of the last minute."""


@dataclass(slots=True)
class Measured:
    """All that one calibration measured."""

    library: str = ""
    stretto: str = ""
    ranks: int = 0
    nodes: int = 0
    ppn: list[int] = field(default_factory=list)
    points: list[Points] = field(default_factory=list)
    loads: list[list[NodeLoad]] = field(default_factory=list)
    """Of all nodes, before, between and after the passes."""

    @property
    def has_all_cases(self) -> bool:
        """Whether a pass was through; the load is looked at before the first, halfway and after the last."""
        return len(self.loads) > 1

    def of(self, what: str, **about: Any) -> list[Points]:
        """The cases of a kind, with samples, in the order of their bytes."""
        found = [
            one
            for one in self.points
            if one.what == what and about.items() <= one.about.items() and one.seconds
        ]
        return sorted(found, key=lambda one: one.bytes)

    def add(self, what: str, number: int, seconds: list[float], about: dict[str, Any]) -> None:
        """Samples of one more pass."""
        for one in self.points:
            if (one.what, one.about) == (what, about):
                one.passes.extend([] for _ in range(len(one.passes), number))
                one.passes.append(seconds)
                return
        self.points.append(Points(what, about, [*([] for _ in range(number)), seconds]))


def read_events(
    lines: Iterable[str], progress: Callable[[float, float], None], into: Measured | None = None
) -> Measured:
    """What the measuring program reports. Raises StrettoError when it fails or ends early.

    What is given is filled as points come in, and holds them however the reading ends.
    """
    measured = Measured() if into is None else into
    for line in lines:
        event = parse_event(line)
        match event.pop("event", None):
            case "start":
                measured.library, measured.stretto = event["library"], event["stretto"]
                measured.ranks, measured.nodes, measured.ppn = event["ranks"], event["nodes"], event["ppn"]
            case "progress":
                progress(event["done"], event["total"])
            case "load":
                measured.loads.append([NodeLoad(**node) for node in event["nodes"]])
            case "points":
                what, number, seconds = event.pop("what"), event.pop("pass"), event.pop("seconds")
                measured.add(what, number, seconds, event)
            case "error":
                raise StrettoError(f"the measuring program failed: {event['message']}")
            case "end":
                return measured
    raise StrettoError(
        "the measuring program ended before it was through; see what the launcher said above; "
        "nothing was written"
    )
