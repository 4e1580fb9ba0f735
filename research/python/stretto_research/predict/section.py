# SPDX-License-Identifier: Apache-2.0
"""The section of `stretto report` on predictions: the model's times beside the measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stretto.plots.pictures import add_tip, new_figure
from stretto.plots.style import label_seconds
from stretto.report.choices import COLOURS
from stretto.report.kinds import Kind
from stretto.report.page import Cell, Chart, Column, KeyFigure, Section, Table, number
from stretto.studies.figures import file_name
from stretto.support.parts import validate
from stretto.support.units import format_bytes, format_percent, format_seconds
from stretto_research.predict.file import Prediction, Predictions, median_error, worst

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def read(content: dict[str, Any], file: Path) -> Predictions:
    """Returns the predictions in the JSON object of a file."""
    return validate(Predictions, content, file)


def sections(found: Sequence[Predictions]) -> list[Section]:
    """Returns a section that compares predicted and measured times; no section without predictions."""
    if not found:
        return []
    section = Section(
        "theory",
        "Predictions and measurements",
        "The time of a collective according to the model, against the measured time. On the line they are "
        "equal.",
    )
    for index, one in enumerate(found):
        section.items.append(prediction_chart(f"theory-{index + 1}", one))
        median, far = median_error(one.predictions), worst(one.predictions)
        section.figures.append(
            KeyFigure(
                format_percent(median),
                f"median error of the model (largest: {format_percent(abs(far.error))}): {one.title}",
            )
        )
    section.items.append(prediction_table("theory-table", found))
    return [section]


def prediction_chart(identity: str, one: Predictions) -> Chart:
    """Returns a chart with a point for each prediction, and a colour for each collective and spec."""
    caption = (
        f"Predictions for the machine {one.machine}, measurements with {one.mpi}. Above the line, the model "
        "predicts too much time; below it, too little. The dotted lines are 15 % off."
    )
    file = f"theory-{file_name(one.title)}"
    return Chart(identity, one.title, caption, file, lambda: prediction_figure(one))


def prediction_figure(found: Predictions) -> Figure:
    """Returns a figure of predicted against measured times."""
    figure = new_figure(6.6, 5.6)
    figure.suptitle(f"predicted and measured: {found.title}", fontsize=11)
    axes = figure.subplots()
    groups: dict[str, list[Prediction]] = {}
    for one in found.predictions:
        groups.setdefault(f"{one.collective} {one.spec}", []).append(one)
    for index, (name, points) in enumerate(groups.items()):
        measured, predicted = [one.measured for one in points], [one.predicted for one in points]
        colour = COLOURS[index % len(COLOURS)]
        axes.scatter(measured, predicted, s=22, color=colour, label=name, alpha=0.85)
        for one in points:
            add_tip(axes, one.measured, one.predicted, _tip(one))
    times = [time for one in found.predictions for time in (one.measured, one.predicted)]
    ends = [min(times) / 1.3, max(times) * 1.3]
    for factor, style in ((1.0, "-"), (1.15, ":"), (1 / 1.15, ":")):
        axes.plot(ends, [factor * end for end in ends], color="#6b7684", linestyle=style, linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="measured", ylabel="predicted")
    label_seconds(axes.xaxis)
    label_seconds(axes.yaxis)
    axes.grid(which="major", alpha=0.35)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def _tip(one: Prediction) -> str:
    return (
        f"{one.collective} {one.spec}\n{format_bytes(one.bytes)} on {one.nodes} x {one.ppn}"
        f"\npredicted {format_seconds(one.predicted)}, measured {format_seconds(one.measured)}"
        f"\n{_signed(one.error)}"
    )


def _signed(error: float) -> str:
    """Returns an error as text: `+3.1 %`. An error that rounds to zero is `+0.0 %`."""
    return f"{round(100 * error, 1) + 0.0:+.1f} %"


def prediction_table(identity: str, found: Sequence[Predictions]) -> Table:
    """Returns a table with a row for each prediction."""
    rows = [
        [
            Cell(one.collective),
            Cell(one.spec),
            number(one.bytes, format_bytes(one.bytes)),
            number(one.nodes * 10**6 + one.ppn, f"{one.nodes} x {one.ppn}"),
            number(one.predicted, format_seconds(one.predicted)),
            number(one.measured, format_seconds(one.measured)),
            number(one.error, _signed(one.error), mark="bad" if abs(one.error) > 0.35 else "number"),
        ]
        for file in found
        for one in file.predictions
    ]
    columns = [
        Column("collective"),
        Column("spec"),
        Column("size", number=True),
        Column("nodes x ppn", number=True),
        Column("predicted", number=True),
        Column("measured", number=True),
        Column("error", number=True),
    ]
    groups = [(file.title, len(file.predictions)) for file in found]
    return Table(identity, "", "Red: wrong by more than 35 %.", columns, rows, (0, 1, 2, 3), groups)


KIND = Kind(read, sections)
