# SPDX-License-Identifier: Apache-2.0
"""Plots a benchmark run as the papers do: throughput, or overlap, over message size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots.pictures import new_figure, save_figure
from stretto.plots.style import (
    COLOURS,
    LINESTYLES,
    MARKERS,
    NATIVE_COLOUR,
    label_numbers,
    label_sizes,
    legend_below,
)
from stretto.results.runs import BLOCKING, Row, Run
from stretto.spec.collectives import LinkBound
from stretto.support.estimates import Estimate
from stretto.support.units import format_bytes, format_place, format_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPEC_LABELS = {"native": "native (MPI default)", "auto": "auto (Stretto's choice)"}
_LEAST_SHARE = 0.15
"""A line for a bound covers at least this part of the axis."""


@dataclass(frozen=True)
class _Quantity:
    label: str
    estimate: Callable[[Row], Estimate | None]
    unit: float


_THROUGHPUT = _Quantity("algorithm bandwidth (MB/s)", lambda row: row.bandwidth, 1e6)
_HIDDEN = _Quantity("hidden (%)", lambda row: row.overlap.hidden if row.overlap else None, 0.01)


def plot_run(
    run: Run, rows: list[Row], bound: LinkBound | None, file: Path, remarks: Sequence[str] = ()
) -> None:
    """Draw a run over message size, with a panel for calls out of place and one for calls in place.

    `remarks`: what makes the results doubtful, such as a busy machine.
    """
    overlaps = run.overlaps
    figure = overlap_figure(run, rows, remarks) if overlaps else throughput_figure(run, rows, bound, remarks)
    save_figure(figure, file)


def throughput_figure(
    run: Run, rows: list[Row], bound: LinkBound | None, remarks: Sequence[str] = ()
) -> Figure:
    """A figure of algorithm bandwidth over message size."""
    figure = _figure(run, rows, _THROUGHPUT, bound, remarks)
    for axes in figure.axes:
        axes.set_yscale("log")
        axes.grid(which="minor", axis="y", alpha=0.12)
    label_numbers(figure.axes[0].yaxis)
    return figure


def overlap_figure(run: Run, rows: list[Row], remarks: Sequence[str] = ()) -> Figure:
    """A figure of how much of the communication was hidden, over message size."""
    figure = _figure(run, rows, _HIDDEN, None, remarks)
    figure.axes[0].set_ylim(-3, 103)
    return figure


def plot_predictions(
    title: str, lines: dict[str, list[tuple[int, float]]], bound: list[tuple[int, float]], file: Path
) -> None:
    """Draw predicted algorithm bandwidth over message size, with a line for each spec."""
    figure = new_figure(8.4, 5.4)
    axes = figure.subplots()
    for index, (label, points) in enumerate(lines.items()):
        # Formulas are dotted, without markers, and use the same colours again.
        formula = label.endswith("(formula)")
        styles = ((0, (1, 1)), (0, (1, 4))) if formula else LINESTYLES
        axes.plot(
            [size for size, _ in points],
            [bandwidth / 1e6 for _, bandwidth in points],
            color=NATIVE_COLOUR if label == "native" else COLOURS[index % len(COLOURS)],
            marker="" if formula else "x" if label == "native" else MARKERS[index % len(MARKERS)],
            linestyle=styles[index // len(COLOURS) % len(styles)],
            markersize=4,
            linewidth=1.5,
            label="native (textbook)" if label == "native" else label,
        )
    if bound:
        axes.plot(
            [size for size, _ in bound],
            [bandwidth / 1e6 for _, bandwidth in bound],
            color="black",
            linestyle="--",
            linewidth=1.2,
            label="bound of the links",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(which="major", alpha=0.35)
    axes.set_xlabel("message size")
    axes.set_ylabel(_THROUGHPUT.label)
    label_sizes(axes, sorted({size for points in lines.values() for size, _ in points}))
    label_numbers(axes.yaxis)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(title)
    save_figure(figure, file)


def _figure(
    run: Run, rows: list[Row], quantity: _Quantity, bound: LinkBound | None, remarks: Sequence[str]
) -> Figure:
    places = sorted({row.series.in_place for row in rows})
    width = 1.2 + 6.0 * len(places)
    figure = new_figure(width, 4.8)
    panels = figure.subplots(1, len(places), sharey=True, squeeze=False)
    sizes = sorted({row.series.bytes for row in rows})
    for axes, in_place in zip(panels[0], places, strict=True):
        _draw_panel(axes, [row for row in rows if row.series.in_place == in_place], quantity, bound)
        axes.set_xlabel(f"message size ({run.collective.message})")
        label_sizes(axes, sizes)
        if len(places) > 1:
            axes.set_title("in place" if in_place else "out of place", fontsize=11)
    panels[0][0].set_ylabel(quantity.label)
    legend_below(figure, width, remarks)
    figure.suptitle(_title(run, places))
    return figure


def _title(run: Run, places: list[bool]) -> str:
    where = format_place(run.ranks, run.nodes)
    place = ", in place" if places == [True] else ""
    thread = ", progress thread" if run.progress_thread else ""
    return f"{run.collective.function} of {run.type}{place}, {run.library}, {where}{thread}"


def _label(line: Sequence[Row]) -> str:
    """The spec of a line, with the specs that stood for it at its sizes, in ascending order."""
    series = line[0].series
    form = "" if series.form == BLOCKING else f", {series.form}"
    label = f"{_SPEC_LABELS.get(series.spec, series.spec)}{form}"
    groups = [(spec, [*rows]) for spec, rows in groupby(line, lambda row: row.series.chosen)]
    if [spec for spec, _ in groups] == [series.spec]:
        return label
    (first, its_rows), *others = groups
    chosen = [f"{first} up to {_size(its_rows[-1])}" if others else first]
    chosen += [f"{spec} from {_size(rows[0])}" for spec, rows in others]
    return f"{label}: {', '.join(chosen)}"


def _size(row: Row) -> str:
    """The message size, which a line of text does not break."""
    return format_bytes(row.series.bytes).replace(" ", "\N{NO-BREAK SPACE}")


def _draw_panel(axes: Axes, rows: list[Row], quantity: _Quantity, bound: LinkBound | None) -> None:
    forms = list(dict.fromkeys(row.series.form for row in rows))
    others = list(dict.fromkeys(row.series.spec for row in rows if row.series.spec != "native"))
    for spec, form in dict.fromkeys((row.series.spec, row.series.form) for row in rows):
        line = sorted(
            (row for row in rows if (row.series.spec, row.series.form) == (spec, form)),
            key=lambda row: row.series.bytes,
        )
        sizes = [row.series.bytes for row in line]
        estimates = [estimate for row in line if (estimate := quantity.estimate(row))]
        native = spec == "native"
        index = 0 if native else others.index(spec)
        colour = NATIVE_COLOUR if native else COLOURS[index % len(COLOURS)]
        axes.plot(
            sizes,
            [estimate.median / quantity.unit for estimate in estimates],
            color=colour,
            marker="x" if native else MARKERS[index % len(MARKERS)],
            linestyle=LINESTYLES[forms.index(form)] if index < len(COLOURS) else ":",
            markersize=5,
            linewidth=1.6,
            label=_label(line),
        )
        axes.fill_between(
            sizes,
            [estimate.low / quantity.unit for estimate in estimates],
            [estimate.high / quantity.unit for estimate in estimates],
            color=colour,
            alpha=0.2,
            linewidth=0,
        )
    if bound:
        draw_bound(axes, bound, [row.series.bytes for row in rows])
    axes.set_xscale("log", base=2)
    axes.grid(which="major", alpha=0.35)


def draw_bound(axes: Axes, bound: LinkBound, sizes: list[int]) -> None:
    """Draw the bound in MB/s, across the sizes for which it is stated."""
    stated = bound_line(bound, sizes)
    if stated:
        axes.plot(
            *zip(*((size, limit / 1e6) for size, limit in stated), strict=True),
            color="black",
            linestyle="--",
            linewidth=1.2,
            label=f"bound of {format_rate(bound.rate)} links",
        )


def bound_line(bound: LinkBound, sizes: Iterable[int]) -> list[tuple[int, float]]:
    """Pairs of a size and the bound in bytes per second, for the sizes for which it is stated.

    The line begins where the bound begins to hold, if that is between two sizes. It goes on beyond the last
    size, as the bound does, far enough to be easily seen.
    """
    ascending = sorted(set(sizes))
    stated = [(size, limit) for size in ascending if (limit := bound.bandwidth(size))]
    if not stated:
        return []
    first = min(stated[0][0], max(ascending[0], bound.least_bytes))
    left, begin, last = (math.log2(max(1, size)) for size in (ascending[0], first, ascending[-1]))
    span = last - left or 1.0
    end = max(last + 0.05 * span, (begin - _LEAST_SHARE * left) / (1 - _LEAST_SHARE), begin + 0.3)
    before = [] if first == stated[0][0] else [(first, stated[0][1])]
    return [*before, *stated, (math.ceil(2**end), stated[-1][1])]
