# SPDX-License-Identifier: Apache-2.0
"""Draws advice: throughput and gain by message size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots.pictures import new_figure, save_figure
from stretto.plots.style import label_numbers, label_sizes
from stretto_research.advise.search import Advice
from stretto_research.simulate.jobs import LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of plots/style.py. Widths differ, so that coinciding lines of two libraries stay visible.
_OURS = "#0072B2"
_LINES = {
    "openmpi": ("#D55E00", "s", 3.6),
    "mpich": ("#009E73", "D", 1.8),
    "mvapich2": ("#CC79A7", "^", 1.4),
    "intelmpi": ("#E69F00", "v", 1.4),
}


def plot_advice(title: str, advice: Sequence[Advice], file: Path) -> None:
    """Draw the throughput of the best spec, of each library and of the bound, and the gains below."""
    figure = new_figure(8.4, 7.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    sizes = [one.bytes for one in advice]
    _draw_throughput(upper, advice, sizes)
    _draw_gains(lower, advice, sizes)
    label_sizes(lower, sizes)
    label_numbers(upper.yaxis)
    figure.legend(
        *upper.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9
    )
    figure.suptitle(title)
    save_figure(figure, file)


def _draw_throughput(axes: Axes, advice: Sequence[Advice], sizes: list[int]) -> None:
    limits = [(one.bytes, one.bytes / one.bound / 1e6) for one in advice if one.bound]
    if limits:
        axes.plot(*zip(*limits, strict=True), color="black", linestyle="--", linewidth=1.2, label="bound")
    for at, (name, (colour, marker, width)) in enumerate(_LINES.items()):
        rates = [one.bytes / one.libraries[at].seconds / 1e6 for one in advice]
        axes.plot(
            sizes, rates, color=colour, marker=marker, markersize=4, linewidth=width, label=LABELS[name]
        )
    ours = [one.bytes / one.seconds / 1e6 for one in advice]
    axes.plot(sizes, ours, color=_OURS, marker="o", markersize=4, linewidth=1.8, label="Stretto, best spec")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(which="major", alpha=0.35)
    axes.set_ylabel("algorithm bandwidth (MB/s)")


def _draw_gains(axes: Axes, advice: Sequence[Advice], sizes: list[int]) -> None:
    for at, (colour, marker, width) in enumerate(_LINES.values()):
        gains = [one.gain(one.libraries[at]) for one in advice]
        axes.plot(sizes, gains, color=colour, marker=marker, markersize=4, linewidth=width)
    axes.set_yscale("log", base=2)
    most = max(one.gain(item) for one in advice for item in one.libraries)
    ticks = [tick for tick in (1, 1.5, 2, 3, 4, 6, 8, 12, 16, 32, 64) if tick <= 1.1 * max(most, 1.5)]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.grid(which="major", alpha=0.35)
    axes.set_ylabel("gain over the library")
    axes.set_xlabel("message size")
