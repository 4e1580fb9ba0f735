# SPDX-License-Identifier: Apache-2.0
"""Draws panels of curves or bars with Matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots.panels import Axis, Panel, Scale
from stretto.plots.pictures import new_figure, save_figure
from stretto.plots.style import (
    COLOURS,
    LINESTYLES,
    MARKERS,
    label_counts,
    label_numbers,
    label_seconds,
    label_sizes,
)
from stretto.support.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_PANEL_WIDTH = 5.2
_PANEL_HEIGHT = 3.6
_FORMULA = "-T"
"""The papers' suffix for curves of theory."""
_MOST_MARKERS = 40
_MOST_UPRIGHT = 16
"""The most sizes below bars that are upright; more are turned."""


def draw_panels(title: str, panels: Sequence[Panel], file: Path, *, columns: int = 2) -> None:
    """Draw panels into one picture, `columns` in a row."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    # A formula (RSA-T) is dotted, in the colour of the curve that it predicts (RSA).
    labels = list(dict.fromkeys(label for panel in panels for label in panel.curves))
    plain = [label for label in labels if not _is_formula(label)]
    # One legend for all panels if they share most labels; else one in each panel.
    shared = len(labels) <= max(len(panel.curves) for panel in panels) + 2
    width = max(1.0 + _PANEL_WIDTH * columns, 6.5)
    figure = new_figure(width, 1.2 + _PANEL_HEIGHT * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _draw_panel(axes, panel, plain)
        if not shared:
            axes.legend(fontsize=7.5, frameon=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    if shared:
        handles: dict[str, Artist] = {}
        for axes in grid.flat:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=min(4, len(handles)),
            frameon=False, fontsize=9,
        )  # fmt: skip
    figure.suptitle(title, fontsize=11)
    save_figure(figure, file, dpi=130)


def _is_formula(label: str) -> bool:
    return label.endswith(_FORMULA)


def _draw_panel(axes: Axes, panel: Panel, labels: list[str]) -> None:
    count = 1 if panel.stacked else len(panel.curves)
    xs = sorted({x for curve in panel.curves.values() for x in curve})
    tops = dict.fromkeys(xs, 0.0)
    for place, (label, curve) in enumerate(panel.curves.items()):
        index = labels.index(label.removesuffix(_FORMULA))
        colour = COLOURS[index % len(COLOURS)]
        if panel.stacked:
            at = [float(xs.index(x)) for x in curve]
            below = [tops[x] for x in curve]
            axes.bar(at, list(curve.values()), 0.8, bottom=below, color=colour, label=label)
            for x, y in curve.items():
                tops[x] += y
            continue
        if panel.bars:
            width = 0.8 / count
            at = [x + (place - (count - 1) / 2) * width for x in range(len(curve))]
            axes.bar(at, list(curve.values()), width, color=colour, label=label)
            continue
        axes.plot(
            list(curve),
            list(curve.values()),
            color=colour,
            marker="" if _is_formula(label) or len(curve) > _MOST_MARKERS else MARKERS[index % len(MARKERS)],
            linestyle=":" if _is_formula(label) else LINESTYLES[index // len(COLOURS) % len(LINESTYLES)],
            markersize=3.5,
            linewidth=1.4,
            label=label,
        )
    axes.set_title(panel.title, fontsize=10)
    axes.grid(which="major", alpha=0.3)
    axes.set_axisbelow(True)
    if panel.bars:
        words = [panel.ticks.get(x) or _text(x, panel.x) for x in xs]
        if panel.x.scale == Scale.BYTES and len(words) <= _MOST_UPRIGHT:
            words = [word.replace(" ", "\n") for word in words]
        is_long = max((len(line) for word in words for line in word.splitlines()), default=0) > 4
        axes.set_xticks(range(len(xs)), words, rotation=60 if is_long else 0, fontsize=8)
        axes.set_xlabel(panel.x.label)
    else:
        _set_scale(axes, "x", panel.x, xs)
    _set_scale(axes, "y", panel.y, [])
    if panel.stacked:
        axes.set_ylim(top=1.05 * max(tops.values(), default=1.0) or 1.0)


def _set_scale(axes: Axes, which: str, axis: Axis, values: list[float]) -> None:
    is_x = which == "x"
    (axes.set_xlabel if is_x else axes.set_ylabel)(axis.label)
    set_scale = axes.set_xscale if is_x else axes.set_yscale
    match axis.scale:
        case Scale.BYTES:
            set_scale("log", base=2)
            if is_x:
                label_sizes(axes, [int(value) for value in values])
        case Scale.POWERS:
            set_scale("log", base=2)
            if is_x:
                shown = values if len(values) <= 12 else values[:: math.ceil(len(values) / 12)]
                axes.set_xticks(shown, [f"{value:g}" for value in shown], fontsize=8)
                axes.minorticks_off()
        case Scale.LOG:
            set_scale("log")
            label_numbers(axes.xaxis if is_x else axes.yaxis)
        case Scale.LOG_SECONDS:
            set_scale("log")
            label_seconds(axes.xaxis if is_x else axes.yaxis)
        case Scale.SECONDS:
            if not is_x:
                axes.set_ylim(bottom=0)
            label_seconds(axes.xaxis if is_x else axes.yaxis)
        case Scale.LINEAR | Scale.COUNT:
            if not is_x:
                axes.set_ylim(bottom=0)
            if axis.scale is Scale.COUNT:
                label_counts(axes.xaxis if is_x else axes.yaxis)


def _text(value: float, axis: Axis) -> str:
    return format_bytes(int(value)) if axis.scale == Scale.BYTES else f"{value:g}"
