# SPDX-License-Identifier: Apache-2.0
"""The panels of a calibration's figure: points with errors, and lines for the fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from stretto.calibrate.fit import Fit
from stretto.calibrate.limits import Curve, split_trains
from stretto.calibrate.points import Measured, Points
from stretto.calibrate.protocols import predict
from stretto.plots.style import label_numbers, label_seconds
from stretto.support.units import format_bytes, format_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FIT_POINTS = 600
_LIMIT_NAMES = {"node": "between two nodes", "memory": "inside a node", "fabric": "pairs of nodes"}
# Wong's palette, made for colour-blind readers.
_COLOURS = {
    "socket": "#009E73", "node": "#0072B2", "network": "#D55E00", "memory": "#56B4E9", "fabric": "#CC79A7",
}  # fmt: skip
_GREY = "#555555"


def _draw_messages(
    axes: Axes, measured: Measured, found: Fit, quantity: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> None:
    """Draw the points and the fit of each level, and where protocols begin."""
    for level, pieces in found.levels.items():
        points = measured.of("ping-pong", level=level)
        sizes = np.asarray([float(one.bytes) for one in points])
        values = np.asarray([found.of(one).value for one in points])
        errors = np.asarray([found.of(one).error for one in points])
        colour = _COLOURS[level]
        # On a logarithmic axis, an error bar down to 0 would reach the frame.
        low, high = quantity(sizes, np.maximum(values - errors, values / 3)), quantity(sizes, values + errors)
        axes.vlines(sizes, low, high, color=colour, alpha=0.5, linewidth=1)
        axes.plot(sizes, quantity(sizes, values), "o", color=colour, markersize=3, label=f"{level}, measured")
        grid = np.unique(np.round(np.geomspace(max(1, sizes[0]), sizes[-1], _FIT_POINTS)).astype(int)).astype(
            float
        )
        bucket = found.bucket if level == "network" else None
        line = quantity(grid, predict(pieces, grid, bucket))
        # The line is interrupted where one protocol ends and the next begins.
        begins = np.asarray([one.protocol.begin for one in pieces])
        of_piece = np.searchsorted(begins, grid, side="right")
        for index in range(len(pieces)):
            inside = of_piece == index + 1
            label = f"{level}, fit" if index == 0 else None
            axes.plot(grid[inside], line[inside], color=colour, linewidth=1.3, label=label)
        for index, piece in enumerate(pieces[1:]):
            before = pieces[index].protocol
            rendezvous = piece.protocol.synchronous and not before.synchronous
            axes.axvline(
                piece.protocol.begin,
                color=colour,
                linestyle="--" if rendezvous else ":",
                linewidth=0.9,
                alpha=0.8,
                label=f"{level}: rendezvous from {format_bytes(piece.protocol.begin)}"
                if rendezvous
                else None,
            )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("message (bytes)")
    _label_sizes(axes)


def draw_times(axes: Axes, measured: Measured, found: Fit) -> None:
    """Draw the time of a message by size."""
    _draw_messages(axes, measured, found, lambda _, seconds: seconds)
    axes.set_title("time of one message", fontsize=10)
    axes.set_ylabel("half a round trip")
    label_seconds(axes.yaxis)


def draw_bandwidths(axes: Axes, measured: Measured, found: Fit) -> None:
    """Draw the bandwidth of a message by size."""
    _draw_messages(axes, measured, found, lambda sizes, seconds: sizes / seconds / 1e6)
    axes.set_title("the same as bandwidth", fontsize=10)
    axes.set_ylabel("bytes / time (MB/s)")
    label_numbers(axes.yaxis)


def draw_directions(axes: Axes, found: Fit) -> None:
    """Draw duplex and exchange by size."""
    markers = {"duplex": ("o", "-"), "exchange": ("s", "--")}
    for level, figures in found.directions.items():
        for name, fit in figures.items():
            marker, style = markers[name]
            axes.errorbar(
                fit.sizes,
                [one.value for one in fit.values],
                [min(one.error, 1.0) for one in fit.values],
                fmt=marker,
                color=_COLOURS[level],
                markersize=4,
                capsize=2,
                markerfacecolor="white" if name == "exchange" else None,
                label=f"{level}: {name}",
            )
            begins = [max(fit.sizes[0], step.begin) for step in fit.steps] + [fit.sizes[-1]]
            values = [step.figure.value for step in fit.steps]
            axes.step(
                begins,
                [*values, values[-1]],
                where="post",
                color=_COLOURS[level],
                linestyle=style,
                linewidth=1.2,
            )
    axes.set_xscale("log", base=2)
    axes.set_ylim(-0.15, 1.25)
    _label_sizes(axes)
    axes.set_title("1: both directions at once, 0: in turns; lines are fits", fontsize=10)
    axes.set_xlabel("message (bytes)")
    axes.set_ylabel("part of a message that hides")


def draw_trains(axes: Axes, points: Points, found: Fit) -> None:
    """Draw trains of messages and the burst that an idle link passes."""
    size = points.bytes
    trains = split_trains(points)
    for index, train in enumerate(trains):
        axes.plot(
            train * 1e3,
            size * np.arange(1, len(train) + 1) / 1e6,
            color=_COLOURS["network"],
            alpha=0.6,
            marker=".",
            markersize=2,
            linewidth=0.8,
            label=f"{len(trains)} trains of {len(train)} messages of {format_bytes(size)}"
            if index == 0
            else None,
        )
    if found.bucket:
        end = max(float(train[-1]) for train in trains)
        seconds = np.asarray([0.0, end])
        bucket = found.bucket
        axes.plot(
            seconds * 1e3,
            (bucket.burst + bucket.bandwidth * seconds) / 1e6,
            color=_GREY,
            linestyle="--",
            linewidth=1.2,
            label=f"{bucket.burst / 1024:.0f} KiB at once, then {bucket.bandwidth / 1e6:.4g} MB/s",
        )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_title(
        "large messages after a pause" + ("" if found.bucket else ": nothing saved up"), fontsize=10
    )
    axes.set_xlabel("time since the first was sent (ms)")
    axes.set_ylabel("acknowledged (MB)")


def draw_limits(axes: Axes, curves: list[tuple[str, Curve]], label: str, unit: float) -> None:
    """Draw the rates that several senders reach together."""
    for name, curve in curves:
        colour = _COLOURS[name]
        counts = np.asarray(curve.counts, dtype=float)
        streams = curve.about == "message_rate"
        way = f", {curve.way}" if streams else ""
        marker = "s" if curve.way == "both ways" else "o"
        axes.errorbar(
            counts,
            np.asarray(curve.rates) / unit,
            np.asarray(curve.errors) / unit,
            fmt=marker,
            color=colour,
            markersize=4,
            capsize=2,
            label=f"{_LIMIT_NAMES[name]}{way}",
        )
        if len(counts) == 1:
            continue  # nothing was fitted
        grid = np.geomspace(1, counts[-1], 100)
        ideal = curve.single * grid
        fitted = np.minimum(ideal, curve.limit) if curve.limit else ideal
        axes.plot(
            grid,
            fitted / unit,
            color=colour,
            linewidth=1.2,
            linestyle="--" if curve.way == "both ways" else "-",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    highest = max(max(curve.counts) for _, curve in curves)
    ticks = sorted({highest, *(1 << exponent for exponent in range(highest.bit_length()))})
    axes.set_xticks(ticks, [str(one) for one in ticks])
    axes.set_xticks([], minor=True)
    label_numbers(axes.yaxis)
    axes.set_title("several at once; lines are fits", fontsize=10)
    axes.set_xlabel("pairs of ranks, or of nodes, at once")
    axes.set_ylabel(label)


def draw_reduction(axes: Axes, measured: Measured, found: Fit) -> None:
    """Draw the rate of reductions by vector length."""
    points = measured.of("reduction")
    sizes = np.asarray([float(one.bytes) for one in points])
    values = np.asarray([found.of(one).value for one in points])
    errors = np.asarray([found.of(one).error for one in points])
    axes.errorbar(
        sizes,
        sizes / values / 1e9,
        sizes / values**2 * errors / 1e9,
        fmt="o",
        color=_COLOURS["node"],
        markersize=4,
        capsize=2,
        label="measured, all ranks at once",
    )
    begins = [max(sizes[0], step.rate.begin) for step in found.reduction] + [sizes[-1]]
    rates = [step.rate.bandwidth / 1e9 for step in found.reduction]
    axes.step(begins, [*rates, rates[-1]], where="post", color=_GREY, linewidth=1.3, label="fit")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _label_sizes(axes)
    label_numbers(axes.yaxis)
    axes.set_title("reduction: FP32 sum", fontsize=10)
    axes.set_xlabel("vector (bytes)")
    axes.set_ylabel("bytes of an operand / time (GB/s)")


def draw_engine(axes: Axes, found: Fit) -> None:
    """Draw the times of calls with many segments."""
    engine = found.engine
    if engine is None:
        return
    kinds = list(dict.fromkeys((call.spec.partition(":segments")[0], call.ranks) for call in engine.calls))
    colours = list(_COLOURS.values())
    for (recipe, ranks), colour in zip(kinds, colours, strict=False):
        calls = sorted(
            (
                one
                for one in engine.calls
                if one.ranks == ranks and one.spec.partition(":segments")[0] == recipe
            ),
            key=lambda one: one.segments,
        )
        segments = [one.segments for one in calls]
        axes.plot(
            segments,
            [one.measured for one in calls],
            "o",
            color=colour,
            markersize=4,
            label=f"{recipe}, {ranks} ranks",
        )
        axes.plot(segments, [one.fitted for one in calls], color=colour, linewidth=1.2)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({one.segments for one in engine.calls})
    axes.set_xticks(ticks, [str(one) for one in ticks])
    axes.set_xticks([], minor=True)
    label_seconds(axes.yaxis)
    axes.set_title(f"engine: lines are fits, off by {format_percent(engine.residual)}", fontsize=10)
    axes.set_xlabel("segments of a few bytes, all at once")
    axes.set_ylabel("time of an allreduce")


def _label_sizes(axes: Axes) -> None:
    low, high = axes.get_xlim()
    first, last = math.ceil(math.log2(max(1.0, low))), math.floor(math.log2(high))
    step = max(1, -(-(last - first + 1) // 7))
    ticks = [1 << exponent for exponent in range(first, last + 1, step)]
    axes.set_xticks(ticks, [format_bytes(one).replace(" ", "\n") for one in ticks], fontsize=8)
    axes.set_xticks([], minor=True)
