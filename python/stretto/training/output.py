# SPDX-License-Identifier: Apache-2.0
"""A training as people see it: a table, remarks, and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.plots.style import COLOURS, NATIVE_COLOUR
from stretto.spec.native import NATIVE
from stretto.support.estimates import Estimate
from stretto.support.files import save_figure
from stretto.support.units import format_rate, format_seconds, three_digits
from stretto.training.result import Line, Training

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _interval(estimate: Estimate) -> str:
    return f"({three_digits(estimate.low)}–{three_digits(estimate.high)})"  # noqa: RUF001  as in all tables


def table(training: Training) -> Table:
    """A row a line."""
    title = f"{training.model}, {training.data}, batch {training.batch} on each of {training.ranks} ranks"
    result = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        header_style="bold",
        pad_edge=False,
    )
    result.add_column("allreduce")
    result.add_column("spec")
    for name in ("images/s", "", "step", "communication", "speedup", ""):
        result.add_column(name, justify="right", no_wrap=True)
    for line in training.lines:
        rate, gain, share = (
            training.images_per_second(line),
            training.gain(line),
            training.communication_share(line),
        )
        result.add_row(
            line.label,
            line.spec if line.spec != line.label else "",
            three_digits(rate.median),
            _interval(rate),
            format_seconds(training.batch * training.ranks / rate.median),
            f"{100 * share:.0f} %" if share is not None else "",
            f"{gain.median:.2f}" if gain else "",
            f"({gain.low:.2f}–{gain.high:.2f})" if gain else "",  # noqa: RUF001
        )
    return result


def notes(training: Training) -> Iterator[str]:
    """What has to be known to read the table."""
    if training.incomplete:
        yield f"! {training.incomplete}"
    for line in training.load.remarks() if training.load else []:
        yield f"! {line}"
    rounds = len(training.lines[0].rounds)
    coverage = training.images_per_second(training.lines[0]).coverage
    where = f"{training.ranks} ranks" + (f" on {training.nodes} nodes" if training.nodes > 1 else "")
    links = f", links of {format_rate(training.rate)}" if training.rate else ""
    yield f"{training.about}, {training.mpi}, {where}{links}; {training.parameters:,} parameters"
    yield (
        f"medians of {rounds} rounds in turns; in brackets {100 * coverage:.0f} % confidence; speedup over "
        "the MPI default, by pairs of a round"
    )
    if training.compute_seconds is not None:
        yield (
            f"a step without communication takes {format_seconds(training.compute_seconds)}, all ranks "
            "computing at once; communication: the part of a step beyond that"
        )
    if training.losses:
        yield f"loss of rank 0's images: {training.losses[0][1]:.4g} first, {training.losses[-1][1]:.4g} last"


def draw(training: Training, file: Path) -> None:
    """Images per second as bars, and the loss over steps."""
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to load, and only plots need it

    figure = Figure(figsize=(10.4, 4.6), layout="constrained")
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
