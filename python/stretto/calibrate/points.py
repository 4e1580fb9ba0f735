# SPDX-License-Identifier: Apache-2.0
"""Points of a calibration, read from the measuring program (src/bench/calibration/phases/phases.hpp)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from stretto.results.runs import parse_event
from stretto.support.errors import StrettoError

_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Points:
    """All samples of one case, in seconds."""

    what: str
    about: dict[str, Any]
    """Parameters of the case: level, bytes, …"""
    passes: list[list[float]] = field(default_factory=list)
    """Samples by pass over all cases: a temporary disturbance does not affect all passes."""

    @property
    def key(self) -> Hashable:
        """A key that is unique among the cases of a calibration."""
        return self.what, frozenset(self.about.items())

    @property
    def bytes(self) -> int:
        """Bytes of the message or the vector."""
        return int(self.about["bytes"])

    @property
    def seconds(self) -> list[float]:
        """The samples of all passes."""
        return [second for part in self.passes for second in part]

    def to_json(self) -> dict[str, Any]:
        """The case as in a machine file's notes."""
        passes = [[float(f"{one:.{_DIGITS}g}") for one in part] for part in self.passes]
        return {"what": self.what, **self.about, "seconds": passes}


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """Load of a node by other programs."""

    host: str
    cores: float
    busy: float
    """Cores that were busy while all ranks slept."""
    stolen: float
    """Fraction of the time that a hypervisor gave to others since the last look."""
    load: float
    """Load average of the last minute."""


@dataclass(slots=True)
class Measured:
    """All points of a calibration."""

    library: str = ""
    stretto: str = ""
    ranks: int = 0
    nodes: int = 0
    ppn: list[int] = field(default_factory=list)
    points: list[Points] = field(default_factory=list)
    loads: list[list[NodeLoad]] = field(default_factory=list)
    """Loads of all nodes before, between and after the passes."""

    @property
    def has_all_cases(self) -> bool:
        """Whether one pass is complete: load is recorded at the start, halfway and at the end."""
        return len(self.loads) > 1

    def of(self, what: str, **about: Any) -> list[Points]:
        """The cases of a kind with samples, in ascending order of bytes."""
        found = [
            one
            for one in self.points
            if one.what == what and about.items() <= one.about.items() and one.seconds
        ]
        return sorted(found, key=lambda one: one.bytes)

    def add(self, what: str, number: int, seconds: list[float], about: dict[str, Any]) -> None:
        """Add the samples of one pass."""
        for one in self.points:
            if (one.what, one.about) == (what, about):
                one.passes.extend([] for _ in range(len(one.passes), number))
                one.passes.append(seconds)
                return
        self.points.append(Points(what, about, [*([] for _ in range(number)), seconds]))


def read_events(
    lines: Iterable[str], progress: Callable[[float, float], None], into: Measured | None = None
) -> Measured:
    """Read the measuring program's events. Raises StrettoError if it fails or ends early.

    `into` is filled as points come in, and keeps them if the reading fails.
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
        "the measuring program ended early; see the launcher's messages above; nothing was written"
    )
