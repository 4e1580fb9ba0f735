# SPDX-License-Identifier: Apache-2.0
"""Writes the charts of a report as PNG, for papers."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots.pictures import new_figure, save_figure
from stretto.plots.style import label_numbers, label_seconds, label_sizes
from stretto.predict.file import Predictions
from stretto.report.bars import Bars
from stretto.report.calls import time_bars
from stretto.report.choices import COLOURS, Choices, algorithm_of, choices, colours, shape_text
from stretto.report.inputs import Inputs, MachineFile, Point, TableFile
from stretto.report.models import LEVEL_COLOURS, LEVELS, fitted_sizes
from stretto.report.profile import profile_bars
from stretto.report.traces import rank_bars, slow_bars
from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE
from stretto.study.figures import file_name, write_figures
from stretto.study.guidelines import sizes_of
from stretto.study.guidelines_file import LibraryChecks
from stretto.support.units import format_bytes, three_digits
from stretto.trace.profile_file import Training

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def write_charts(inputs: Inputs, folder: Path) -> list[Path]:
    """Write all charts into a folder. Returns the files."""
    files = write_figures([run for study in inputs.studies for run in study.runs], folder)
    for name, figure in _figures(inputs):
        file = folder / f"{name}.png"
        save_figure(figure, file)
        files.append(file)
    return files


def _figures(inputs: Inputs) -> Iterator[tuple[str, Figure]]:
    for table in inputs.tables:
        for one in choices(table):
            yield f"choices-{one.call}-{file_name(table.mpi)}", choice_figure(table, one)
    for predictions in inputs.predictions:
        yield f"theory-{file_name(predictions.title)}", prediction_figure(predictions)
    for found in inputs.guidelines:
        for library in found.libraries:
            yield f"guidelines-{file_name(library.title)}", guidelines_figure(library)
    for machine, points in inputs.machines:
        yield f"machine-{file_name(machine.name)}", machine_figure(machine, points)
    for name, run in inputs.statistics:
        yield f"run-{file_name(Path(name).stem)}", bars_figure(time_bars(name, run))
    for name, profile in inputs.profiles:
        stem = file_name(Path(name).stem)
        yield f"profile-{stem}", bars_figure(profile_bars(name, profile))
        if profile.training:
            yield f"gradients-{stem}", gradients_figure(name, profile.training)
    for name, trace in inputs.traces:
        stem = file_name(Path(name).stem)
        yield f"trace-{stem}", bars_figure(slow_bars(name, trace))
        yield f"trace-ranks-{stem}", bars_figure(rank_bars(name, trace))


def _empty(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    figure = new_figure(width, height)
    figure.suptitle(title, fontsize=11)
    return figure, figure.subplots()


def choice_figure(table: TableFile, one: Choices) -> Figure:
    """Returns a map of choices by size and nodes, with a colour for each algorithm."""
    from matplotlib.colors import ListedColormap  # noqa: PLC0415  loaded with the rest
    from matplotlib.patches import Patch  # noqa: PLC0415  the same

    algorithms = one.algorithms
    palette = colours(algorithms)
    figure, axes = _empty(8.2, 1.9 + 0.32 * len(one.shapes), f"{one.call}, {table.mpi}: choices")
    axes.pcolormesh(
        [[algorithms.index(algorithm_of(row)) for row in line] for line in one.cells],
        cmap=ListedColormap([palette[name] for name in algorithms]),
        vmin=-0.5,
        vmax=len(algorithms) - 0.5,
        edgecolors="white",
        linewidth=1.5,
    )
    axes.set_xticks(range(len(one.starts)), [one.size_text(i) for i in range(len(one.starts))], fontsize=8)
    axes.set_yticks([i + 0.5 for i in range(len(one.shapes))], [shape_text(shape) for shape in one.shapes])
    axes.set_xlabel("message size, from")
    figure.legend(
        handles=[Patch(color=palette[name], label=name) for name in algorithms],
        loc="outside lower center",
        ncols=min(4, len(algorithms)),
        frameon=False,
        fontsize=9,
    )
    return figure


def prediction_figure(found: Predictions) -> Figure:
    """Returns a figure of predicted against measured times."""
    figure, axes = _empty(6.6, 5.6, f"predicted and measured: {found.title}")
    groups: dict[str, list[tuple[float, float]]] = {}
    for one in found.predictions:
        groups.setdefault(f"{one.collective} {one.spec}", []).append((one.measured, one.predicted))
    for index, (name, points) in enumerate(groups.items()):
        measured, predicted = zip(*points, strict=True)
        colour = COLOURS[index % len(COLOURS)]
        axes.scatter(measured, predicted, s=22, color=colour, label=name, alpha=0.85)
    ends = [
        end(value for points in groups.values() for pair in points for value in pair) for end in (min, max)
    ]
    for factor, style in ((1.0, "-"), (1.15, ":"), (1 / 1.15, ":")):
        axes.plot(ends, [factor * end for end in ends], color="#6b7684", linestyle=style, linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="measured", ylabel="predicted")
    label_seconds(axes.xaxis)
    label_seconds(axes.yaxis)
    axes.grid(which="major", alpha=0.35)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def guidelines_figure(library: LibraryChecks) -> Figure:
    """Returns maps of guidelines by size, for the library and for Stretto."""
    guidelines = list(dict.fromkeys(one.guideline for one in library.checks))
    sizes = sizes_of(library.checks)
    figure = new_figure(4.6 + 1.1 * len(sizes), 1.4 + 0.26 * len(guidelines))
    figure.suptitle(f"{library.title}: left side / right side, ! violated", fontsize=11)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, spec, title in zip(panels, (NATIVE, STRETTO), ("the library", "Stretto"), strict=True):
        found = {(one.guideline, one.bytes): one for one in library.checks if one.spec == spec}
        cells = [[found.get((one, size)) for size in sizes] for one in guidelines]
        ratios = [[one.ratio.median if one else float("nan") for one in row] for row in cells]
        axes.imshow(ratios, cmap="RdBu_r", vmin=0, vmax=2, aspect="auto")
        for y, row in enumerate(cells):
            for x, one in enumerate(row):
                if one:
                    mark = " !" if one.violated else ""
                    dark = abs(one.ratio.median - 1) > 0.7
                    text = f"{three_digits(one.ratio.median)}{mark}"
                    axes.text(
                        x, y, text, ha="center", va="center", fontsize=7, color="white" if dark else "black"
                    )
        axes.set_title(title, fontsize=10)
        axes.set_xticks(range(len(sizes)), [format_bytes(size) for size in sizes], fontsize=8)
        axes.set_yticks(range(len(guidelines)), [one.text for one in guidelines], fontsize=8)
    return figure


def machine_figure(machine: MachineFile, points: Sequence[Point]) -> Figure:
    """Returns a figure of measured and fitted bandwidths of single messages."""
    figure, axes = _empty(8.2, 4.8, f"{machine.name}: one message between two ranks")
    largest = 1
    for level in machine.levels:
        of_level = [point for point in points if point.level == level]
        sizes = fitted_sizes(machine, level, of_level)
        largest = max(largest, *sizes)
        speeds = [size / machine.seconds(level, size) / 1e6 for size in sizes]
        axes.plot(sizes, speeds, color=LEVEL_COLOURS[level], label=f"{LEVELS[level]}, fit")
        if of_level:
            axes.plot(
                [point.bytes for point in of_level],
                [max(1, point.bytes) / statistics.median(point.samples) / 1e6 for point in of_level],
                "o",
                color=LEVEL_COLOURS[level],
                markerfacecolor="none",
                markersize=4.5,
                label=f"{LEVELS[level]}, measured",
            )
    axes.set(xscale="log", yscale="log", xlabel="message size", ylabel="bandwidth (MB/s)")
    axes.grid(which="major", alpha=0.35)
    label_numbers(axes.yaxis)
    label_sizes(axes, [4**step for step in range(1, 14) if 4**step <= largest])
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def bars_figure(found: Bars) -> Figure:
    """Returns a figure of bars of times, divided by kind."""
    figure, axes = _empty(8.2, 1.7 + 0.28 * len(found.bars), found.title)
    places = {bar: float(place) for place, bar in enumerate(found.bars)}
    ends = dict.fromkeys(found.bars, 0.0)
    for name, colour, pieces in found.kinds:
        at = [places[one.bar] for one in pieces]
        left = [ends[one.bar] for one in pieces]
        axes.barh(at, [one.seconds for one in pieces], left=left, color=colour, label=name)
        for one in pieces:
            ends[one.bar] += one.seconds
    axes.set_yticks(list(places.values()), list(places))
    axes.set_ylim(len(found.bars) - 0.5, -0.5)
    label_seconds(axes.xaxis)
    axes.grid(axis="x", alpha=0.35)
    columns = 3 if max((len(name) for name, _, _ in found.kinds), default=0) < 34 else 1
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    return figure


def gradients_figure(name: str, training: Training) -> Figure:
    """Returns a figure of the bytes of gradients that are ready, over the time since a step began."""
    figure, axes = _empty(8.2, 3.8, f"{name}: when gradients are ready")
    ordered = sorted(training.gradients, key=lambda one: one.ready)
    megabytes = [done / 1e6 for done in accumulate(one.bytes for one in ordered)]
    axes.step([one.ready for one in ordered], megabytes, "o-", where="post", color="#0072B2", markersize=3.5)
    axes.axvline(training.compute_seconds, color="#6b7684", linestyle="--", label="the last gradient")
    axes.axvline(training.step_seconds, color="#D55E00", linestyle="--", label="the end of a step")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="time since the step began", ylabel="gradients that are ready (MB)")
    label_seconds(axes.xaxis)
    axes.grid(which="major", alpha=0.35)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure
