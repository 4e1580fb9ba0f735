# SPDX-License-Identifier: Apache-2.0
"""Draws the points of a calibration and their fits, a panel for each kind of figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.calibrate import panels
from stretto.calibrate.fit import Fit
from stretto.calibrate.points import Measured
from stretto.plots.pictures import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL = (4.6, 4.0)


def plot_fit(measured: Measured, found: Fit, title: str, file: Path) -> None:
    """Draw the figure, and write it as PNG."""
    save_figure(fit_figure(measured, found, title), file)


def fit_figure(measured: Measured, found: Fit, title: str) -> Figure:
    """A panel for each kind of figure that was measured."""
    drawn = _panels(measured, found)
    columns = min(len(drawn), 3 if len(drawn) <= 6 else 4)
    rows = -(-len(drawn) // columns)
    figure = new_figure(_PANEL[0] * columns, _PANEL[1] * rows + 0.4)
    all_axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, draw in zip(all_axes, drawn, strict=False):
        draw(axes)
        axes.grid(which="major", alpha=0.3)
        # Below the axes, the legend hides nothing.
        axes.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2),
            ncols=2,
            frameon=False,
            fontsize=8,
            handlelength=1.8,
        )
    for axes in all_axes[len(drawn) :]:
        axes.set_axis_off()
    figure.suptitle(title, fontsize=12)
    return figure


def _panels(measured: Measured, found: Fit) -> list[Callable[[Axes], None]]:
    curves = [(name, curve) for name, limit in found.limits.items() for curve in limit.curves]
    bandwidths = [(name, curve) for name, curve in curves if curve.about == "bandwidth"]
    rates = [(name, curve) for name, curve in curves if curve.about == "message_rate"]
    result: list[Callable[[Axes], None]] = []
    if found.levels:
        result.append(lambda axes: panels.draw_times(axes, measured, found))
        result.append(lambda axes: panels.draw_bandwidths(axes, measured, found))
    if any(found.directions.values()):
        result.append(lambda axes: panels.draw_directions(axes, found))
    trains = measured.of("train")
    if trains:
        result.append(lambda axes: panels.draw_trains(axes, trains[-1], found))
    if bandwidths:
        result.append(lambda axes: panels.draw_limits(axes, bandwidths, "total bandwidth (MB/s)", 1e6))
    if rates:
        result.append(lambda axes: panels.draw_limits(axes, rates, "total messages (thousand/s)", 1e3))
    if found.reduction:
        result.append(lambda axes: panels.draw_reduction(axes, measured, found))
    if found.engine:
        result.append(lambda axes: panels.draw_engine(axes, found))
    return result
