# SPDX-License-Identifier: Apache-2.0
"""Bars of times in a report: the same data for the page and for PNG files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stretto.report.page import Chart, axis, chart_text, layout, seconds_axis

_MOST_BARS = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar."""

    bar: str
    seconds: float
    text: str
    """The lines that the page shows while the pointer is over the piece."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars of times, each divided into pieces of several kinds."""

    title: str
    bars: Sequence[str]
    """The names of the bars, from top to bottom."""
    kinds: Sequence[tuple[str, str, Sequence[Piece]]]
    """The name, the colour and the pieces of each kind; a kind has at most one piece in a bar."""

    @property
    def longest(self) -> float:
        """The length of the longest bar."""
        ends = dict.fromkeys(self.bars, 0.0)
        for _, _, pieces in self.kinds:
            for one in pieces:
                ends[one.bar] += one.seconds
        return max(ends.values(), default=0.0)


def unique(names: Sequence[str]) -> list[str]:
    """Returns the names, with numbers after those that occur again."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def bars_chart(identity: str, found: Bars, caption: str, warnings: Sequence[str] = ()) -> Chart:
    """Returns the bars as a chart of the page."""
    factor, time = seconds_axis("", found.longest)
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": chart_text(name),
            "y": [chart_text(one.bar) for one in pieces],
            "x": [one.seconds / factor for one in pieces],
            "marker": {"color": colour},
            "text": [chart_text(one.text).replace("\n", "<br>") for one in pieces],
            "textposition": "none",
            "hovertemplate": "%{text}<extra></extra>",
        }
        for name, colour, pieces in found.kinds
    ]
    names = [chart_text(bar) for bar in found.bars]
    rows = axis("", type="category", autorange="reversed", categoryorder="array", categoryarray=names)
    if len(names) > _MOST_BARS:
        rows["nticks"] = _MOST_BARS
    chart_layout = layout(
        barmode="stack",
        xaxis=time,
        yaxis=rows,
        legend={"traceorder": "normal"},
        margin={"l": 70, "r": 20, "t": 34, "b": 36},
    )
    height = max(240, 100 + min(28, 1700 // max(1, len(names))) * len(names))
    return Chart(identity, found.title, caption, data, chart_layout, height, warnings)
