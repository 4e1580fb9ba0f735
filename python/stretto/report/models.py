# SPDX-License-Identifier: Apache-2.0
"""The report's sections on models: predictions against measurements, and the fits of a machine."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from stretto.predict.file import Prediction, Predictions, median_error, worst
from stretto.report.choices import COLOURS
from stretto.report.inputs import MachineFile, Point
from stretto.report.page import (
    Cell,
    Chart,
    Column,
    KeyFigure,
    Section,
    Table,
    chart_text,
    layout,
    log_axis,
    number,
)
from stretto.report.study import size_axis
from stretto.support.units import format_bandwidth, format_bytes, format_percent, format_seconds

LEVELS = {"socket": "inside a socket", "node": "inside a node", "network": "between nodes"}
LEVEL_COLOURS = {"socket": "#009E73", "node": "#E69F00", "network": "#0072B2"}


def prediction_sections(found: Sequence[Predictions]) -> list[Section]:
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
    names = list(dict.fromkeys(f"{point.collective} {point.spec}" for point in one.predictions))
    data: list[dict[str, Any]] = []
    for index, name in enumerate(names):
        points = [point for point in one.predictions if f"{point.collective} {point.spec}" == name]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": chart_text(name),
                "x": [point.measured for point in points],
                "y": [point.predicted for point in points],
                "text": [_prediction_hover(point) for point in points],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {"size": 8, "color": COLOURS[index % len(COLOURS)], "opacity": 0.85},
            }
        )
    ends = [
        end([point.measured for point in one.predictions] + [point.predicted for point in one.predictions])
        for end in (min, max)
    ]
    ends = [ends[0] / 1.3, ends[1] * 1.3]
    for factor, name, dash in (
        (1.0, "predicted = measured", "solid"),
        (1.15, "± 15 %", "dot"),
        (1 / 1.15, "", "dot"),
    ):
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "showlegend": bool(name),
                "x": ends,
                "y": [factor * end for end in ends],
                "hoverinfo": "skip",
                "line": {"color": "#6b7684", "width": 1.2, "dash": dash},
            }
        )
    chart_layout = layout(
        xaxis=log_axis("measured", ends, format_seconds),
        yaxis=log_axis("predicted", ends, format_seconds),
        legend={"font": {"size": 12}},
    )
    return Chart(
        identity,
        one.title,
        f"Predictions for the machine {one.machine}, measurements with {one.mpi}. Above the line, the model "
        "predicts too much time; below it, too little. The dotted lines are 15 % off.",
        data,
        chart_layout,
        520,
    )


def _prediction_hover(one: Prediction) -> str:
    return (
        f"{chart_text(one.collective)} {chart_text(one.spec)}"
        f"<br>{format_bytes(one.bytes)} on {one.nodes} x {one.ppn}"
        f"<br>predicted {format_seconds(one.predicted)}, measured {format_seconds(one.measured)}"
        f"<br>{_signed(one.error)}"
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


def machine_sections(found: Sequence[tuple[MachineFile, list[Point]]]) -> list[Section]:
    """Returns a section with measured and fitted bandwidths of single messages; none without machines."""
    if not found:
        return []
    section = Section(
        "machine",
        "Machine",
        "The bandwidth of single messages between two ranks. Points were measured; lines are what the models "
        "use. Where a line jumps, the MPI library changes its protocol.",
    )
    for index, (machine, points) in enumerate(found):
        if machine.levels:
            section.items.append(machine_chart(f"machine-{index + 1}", machine, points))
        section.items.append(machine_table(f"machine-table-{index + 1}", machine))
    return [section]


def fitted_sizes(machine: MachineFile, level: str, points: Sequence[Point]) -> list[int]:
    """Returns the sizes at which a fit is drawn: a fine grid, and both sides of each change of protocol."""
    largest = max([point.bytes for point in points] or [64 << 20])
    starts = [one.bytes for one in machine.levels[level] if 0 < one.bytes <= largest]  # type: ignore[index]
    grid = [round(2 ** (step / 4)) for step in range(4 * 40) if 2 ** (step / 4) <= largest]
    return sorted({*grid, *starts, *(start - 1 for start in starts), largest})


def machine_chart(identity: str, machine: MachineFile, points: Sequence[Point]) -> Chart:
    """Returns a chart with a line for each level, with its measured points."""
    data: list[dict[str, Any]] = []
    for level in machine.levels:
        of_level = [point for point in points if point.level == level]
        colour = LEVEL_COLOURS[level]
        sizes = fitted_sizes(machine, level, of_level)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"{LEVELS[level]}, fit",
                "x": sizes,
                "y": [size / machine.seconds(level, size) / 1e6 for size in sizes],
                "line": {"color": colour, "width": 2},
                "text": [
                    f"{format_bytes(size)}: {format_seconds(machine.seconds(level, size))}" for size in sizes
                ],
                "hovertemplate": "fit, %{text}<extra></extra>",
            }
        )
        if of_level:
            medians = [statistics.median(point.samples) for point in of_level]
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": f"{LEVELS[level]}, measured",
                    "x": [point.bytes for point in of_level],
                    "y": [
                        max(1, point.bytes) / time / 1e6
                        for point, time in zip(of_level, medians, strict=True)
                    ],
                    "marker": {"color": colour, "size": 7, "symbol": "circle-open"},
                    "text": [
                        f"{format_bytes(point.bytes)}: {format_seconds(time)}, {len(point.samples)} samples"
                        for point, time in zip(of_level, medians, strict=True)
                    ],
                    "hovertemplate": "measured, %{text}<extra></extra>",
                }
            )
    ticks = [4**step for step in range(1, 14)]
    shown = [size for size in ticks if size <= max(max(one["x"]) for one in data)]
    chart_layout = layout(
        xaxis=size_axis(shown, "message size"),
        yaxis=log_axis("bandwidth (MB/s)", (value for line in data for value in line["y"])),
    )
    remarks = " ".join(f"{one.rstrip('.')}." for one in machine.notes.remarks)
    return Chart(
        identity,
        machine.name,
        f"{machine.description or machine.name}. {remarks}".strip(),
        data,
        chart_layout,
    )


def machine_table(identity: str, machine: MachineFile) -> Table:
    """Returns a table with a row for each protocol of each level."""
    rows = [
        [
            Cell(LEVELS[level]),
            number(one.bytes, format_bytes(one.bytes)),
            number(one.latency, format_seconds(one.latency)),
            number(one.bandwidth, f"{format_bandwidth(one.bandwidth)} MB/s"),
            Cell("rendezvous" if one.synchronous else "eager"),
        ]
        for level, protocols in machine.levels.items()
        for one in protocols
    ]
    columns = [
        Column("level"),
        Column("from", number=True),
        Column("latency", number=True),
        Column("bandwidth", number=True),
        Column("protocol"),
    ]
    return Table(
        identity,
        "",
        "Time of a message: latency + bytes / bandwidth, from this size on.",
        columns,
        rows,
        (0,),
    )
