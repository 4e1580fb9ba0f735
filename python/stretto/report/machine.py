# SPDX-License-Identifier: Apache-2.0
"""The report's section on machines: the fits, beside what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stretto.plots.pictures import add_tip, new_figure
from stretto.plots.style import label_numbers, label_sizes
from stretto.report.inputs import MachineFile, Point
from stretto.report.page import Cell, Chart, Column, Section, Table, number
from stretto.studies.figures import file_name
from stretto.support.units import format_bandwidth, format_bytes, format_seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = {"socket": "inside a socket", "node": "inside a node", "network": "between nodes"}
LEVEL_COLOURS = {"socket": "#009E73", "node": "#E69F00", "network": "#0072B2"}


def sections(found: Sequence[tuple[MachineFile, list[Point]]]) -> list[Section]:
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
    remarks = " ".join(f"{one.rstrip('.')}." for one in machine.notes.remarks)
    caption = f"{machine.description or machine.name}. {remarks}".strip()
    file = f"machine-{file_name(machine.name)}"
    return Chart(identity, machine.name, caption, file, lambda: machine_figure(machine, points))


def machine_figure(machine: MachineFile, points: Sequence[Point]) -> Figure:
    """Returns a figure of measured and fitted bandwidths of single messages."""
    figure = new_figure(8.2, 4.8)
    figure.suptitle(f"{machine.name}: one message between two ranks", fontsize=11)
    axes = figure.subplots()
    largest = 1
    for level in machine.levels:
        of_level = [point for point in points if point.level == level]
        sizes = fitted_sizes(machine, level, of_level)
        largest = max(largest, *sizes)
        speeds = [size / machine.seconds(level, size) / 1e6 for size in sizes]
        axes.plot(sizes, speeds, color=LEVEL_COLOURS[level], label=f"{LEVELS[level]}, fit")
        if of_level:
            medians = [statistics.median(point.samples) for point in of_level]
            speeds = [max(1, one.bytes) / time / 1e6 for one, time in zip(of_level, medians, strict=True)]
            axes.plot(
                [point.bytes for point in of_level],
                speeds,
                "o",
                color=LEVEL_COLOURS[level],
                markerfacecolor="none",
                markersize=4.5,
                label=f"{LEVELS[level]}, measured",
            )
            for point, time, speed in zip(of_level, medians, speeds, strict=True):
                words = f"measured, {format_bytes(point.bytes)}: {format_seconds(time)}"
                add_tip(axes, point.bytes, speed, f"{words}, {len(point.samples)} samples")
    axes.set(xscale="log", yscale="log", xlabel="message size", ylabel="bandwidth (MB/s)")
    axes.grid(which="major", alpha=0.35)
    label_numbers(axes.yaxis)
    label_sizes(axes, [4**step for step in range(1, 14) if 4**step <= largest])
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


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
