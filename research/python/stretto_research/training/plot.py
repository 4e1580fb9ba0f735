# SPDX-License-Identifier: Apache-2.0
"""Draws a training."""

from __future__ import annotations

from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots.pictures import new_figure, save_figure
from stretto.plots.style import COLOURS, NATIVE_COLOUR
from stretto.spec.native import NATIVE
from stretto.support.units import format_rate
from stretto_research.training.result import Line, Training

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_training(training: Training, file: Path) -> None:
    """Draw images per second as bars, and the loss over steps."""
    figure = new_figure(10.4, 4.6)
    bars, losses = figure.subplots(1, 2)
    _draw_bars(bars, training)
    _draw_losses(losses, training)
    links = f", links of {format_rate(training.rate)}" if training.rate else ""
    figure.suptitle(
        f"{training.model}, batch {training.batch} on each of {training.ranks} ranks, {training.mpi}{links}",
        fontsize=11,
    )
    save_figure(figure, file)


def _colour(line: Line, index: int) -> str:
    return NATIVE_COLOUR if line.spec == NATIVE else COLOURS[(index - 1) % len(COLOURS)]


def _draw_bars(axes: Axes, training: Training) -> None:
    for index, line in enumerate(training.lines):
        rate, gain = training.images_per_second(line), training.gain(line)
        reach = [[rate.median - rate.low], [rate.high - rate.median]]
        axes.bar(index, rate.median, 0.7, color=_colour(line, index), yerr=reach, capsize=4)
        if gain:
            axes.annotate(
                f"{gain.median:.2f}×",  # noqa: RUF001
                (index, rate.high),
                ha="center",
                va="bottom",
                xytext=(0, 3),
                textcoords="offset points",
            )
    axes.set_xticks(range(len(training.lines)), [line.label for line in training.lines])
    axes.margins(y=0.12)
    axes.set_ylabel("images per second")
    axes.grid(axis="y", alpha=0.35)
    axes.set_axisbelow(True)
    if training.compute_seconds is not None:
        limit = training.batch * training.ranks / training.compute_seconds
        if limit < 3 * axes.get_ylim()[1]:
            axes.axhline(limit, color="black", linestyle="--", linewidth=1.2)
            axes.annotate(
                "without communication",
                (0.01, limit),
                xycoords=("axes fraction", "data"),
                va="bottom",
                fontsize=8,
            )


def _draw_losses(axes: Axes, training: Training) -> None:
    steps = range(1, len(training.losses) + 1)
    axes.plot(steps, [loss for _, loss in training.losses], color="#999999", linewidth=1, zorder=1)
    for index, line in enumerate(training.lines):
        by_it = [spec == line.spec for spec, _ in training.losses]
        its_steps = list(compress(steps, by_it))
        its_losses = [loss for _, loss in compress(training.losses, by_it)]
        axes.scatter(its_steps, its_losses, s=14, color=_colour(line, index), label=line.label, zorder=2)
    axes.set_xlabel("step")
    axes.set_ylabel("loss of rank 0's images")
    axes.grid(alpha=0.35)
    axes.legend(fontsize=8, frameon=False)
