# SPDX-License-Identifier: Apache-2.0
"""Drawing reproduced figures with Matplotlib."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots import COLOURS, LINESTYLES, MARKERS, label_sizes
from stretto.reproduction.figure import Axis, Panel, Result, Scale
from stretto.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_PANEL_WIDTH = 5.2
_PANEL_HEIGHT = 3.6


def draw(title: str, result: Result, file: Path) -> None:
    """Write the figure as PNG."""
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to load, and only drawing needs it

    columns = min(result.columns, len(result.panels))
    rows = math.ceil(len(result.panels) / columns)
    labels = list(dict.fromkeys(label for panel in result.panels for label in panel.curves))
    # One legend for all, if they share most of it; else each has its own.
    shared = len(labels) <= max(len(panel.curves) for panel in result.panels) + 2
    width = max(1.0 + _PANEL_WIDTH * columns, 6.5)
    figure = Figure(figsize=(width, 1.2 + _PANEL_HEIGHT * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, panel in zip(grid.flat, result.panels, strict=False):
        _draw_panel(axes, panel, labels)
        if not shared:
            axes.legend(fontsize=7.5, frameon=False)
    for axes in grid.flat[len(result.panels) :]:
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
    figure.savefig(file, dpi=130)


def _draw_panel(axes: Axes, panel: Panel, labels: list[str]) -> None:
    count = len(panel.curves)
    for place, (label, curve) in enumerate(panel.curves.items()):
        index = labels.index(label)
        colour = COLOURS[index % len(COLOURS)]
        if panel.bars:
            width = 0.8 / count
            at = [x + (place - (count - 1) / 2) * width for x in range(len(curve))]
            axes.bar(at, list(curve.values()), width, color=colour, label=label)
            continue
        axes.plot(
            list(curve),
            list(curve.values()),
            color=colour,
            marker=MARKERS[index % len(MARKERS)],
            linestyle=LINESTYLES[index // len(COLOURS) % len(LINESTYLES)],
            markersize=3.5,
            linewidth=1.4,
            label=label,
        )
    xs = sorted({x for curve in panel.curves.values() for x in curve})
    axes.set_title(panel.title, fontsize=10)
    axes.grid(which="major", alpha=0.3)
    _set_scale(axes, "x", panel.x, xs, bars=panel.bars)
    _set_scale(axes, "y", panel.y, [], bars=False)


def _set_scale(axes: Axes, which: str, axis: Axis, values: list[float], *, bars: bool) -> None:
    is_x = which == "x"
    (axes.set_xlabel if is_x else axes.set_ylabel)(axis.label)
    set_scale = axes.set_xscale if is_x else axes.set_yscale
    if bars and is_x:
        axes.set_xticks(range(len(values)), [_text(value, axis) for value in values], rotation=60, fontsize=7)
        return
    match axis.scale:
        case Scale.BYTES:
            set_scale("log", base=2)
            if is_x:
                label_sizes(axes, [int(value) for value in values])
        case Scale.POWERS:
            set_scale("log", base=2)
            if is_x:
                shown = values if len(values) <= 12 else values[:: math.ceil(len(values) / 12)]
                axes.set_xticks(shown, [f"{value:g}" for value in shown])
                axes.minorticks_off()
        case Scale.LOG:
            set_scale("log")
        case Scale.LINEAR:
            if not is_x:
                axes.set_ylim(bottom=0)


def _text(value: float, axis: Axis) -> str:
    return format_bytes(int(value)) if axis.scale == Scale.BYTES else f"{value:g}"
