# SPDX-License-Identifier: Apache-2.0
"""Bars of times in a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.plots.pictures import add_tips_to_bars, new_figure
from stretto.plots.style import label_seconds
from stretto.report.page import Chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def unique(names: Sequence[str]) -> list[str]:
    """Returns the names, with numbers after those that occur again."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def bars_chart(identity: str, file: str, found: Bars, caption: str, warnings: Sequence[str] = ()) -> Chart:
    """Returns the bars as a chart of the page."""
    return Chart(identity, found.title, caption, file, lambda: bars_figure(found), warnings)


def bars_figure(found: Bars) -> Figure:
    """Returns a figure of bars of times, divided by kind."""
    figure = new_figure(8.2, 1.7 + 0.28 * len(found.bars))
    figure.suptitle(found.title, fontsize=11)
    axes = figure.subplots()
    places = {bar: float(place) for place, bar in enumerate(found.bars)}
    ends = dict.fromkeys(found.bars, 0.0)
    for name, colour, pieces in found.kinds:
        at = [places[one.bar] for one in pieces]
        left = [ends[one.bar] for one in pieces]
        bars = axes.barh(at, [one.seconds for one in pieces], left=left, color=colour, label=name)
        add_tips_to_bars(bars, [one.text for one in pieces])
        for one in pieces:
            ends[one.bar] += one.seconds
    axes.set_yticks(list(places.values()), list(places))
    axes.set_ylim(len(found.bars) - 0.5, -0.5)
    label_seconds(axes.xaxis)
    axes.grid(axis="x", alpha=0.35)
    axes.set_axisbelow(True)
    columns = 3 if max((len(name) for name, _, _ in found.kinds), default=0) < 34 else 1
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    return figure
