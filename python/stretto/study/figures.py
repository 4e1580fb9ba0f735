# SPDX-License-Identifier: Apache-2.0
"""Draws a study's figures as PNG, as the papers do: throughput over message size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots.pictures import new_figure, save_figure
from stretto.plots.runs import draw_bound
from stretto.plots.style import label_numbers, label_sizes, legend_below
from stretto.results.runs import Run
from stretto.spec.labels import NATIVE_LABEL, Kind, label_of, without_parameters
from stretto.study.analysis import gain_of
from stretto.study.curves import Curve, best_curve, curves, library_curves
from stretto.study.file import StudyRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*"
_LINESTYLES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
_MOST_BANDS = 5
_WIDTH = 8.2


def write_figures(runs: Sequence[StudyRun], folder: Path) -> list[Path]:
    """Write all figures of a study. Returns the paths of the files."""
    files = []
    for name, figure in figures(runs):
        file = folder / f"{name}.png"
        save_figure(figure, file)
        files.append(file)
    return files


def figures(runs: Sequence[StudyRun]) -> Iterator[tuple[str, Figure]]:
    """Yields figures with their names without extension, one at a time, as each needs much memory."""
    shown = [run for run in runs if run.sizes]
    for run in shown:
        name = f"{run.run.collective.name}-{file_name(run.name)}"
        library = curves(run, (Kind.NATIVE, Kind.LIBRARY))
        if len(library) > 1:
            yield f"{name}-library", _figure(run, "its own algorithms", library)
        pipelining = curves(run, (Kind.NATIVE, Kind.PIPELINING, Kind.STRETTO))
        if any(curve.kind == Kind.PIPELINING for curve in pipelining):
            yield f"{name}-pipelining", _figure(run, "non-blocking and pipelined", pipelining)
        best = [best_curve(run), *curves(run, (Kind.NATIVE, Kind.STRETTO, Kind.OWN))]
        yield f"{name}-stretto", _figure(run, "MPI default, BEST and Stretto", best)
    for collective in dict.fromkeys(run.run.collective.name for run in shown):
        together = [run for run in shown if run.run.collective.name == collective]
        if len(together) > 1:
            yield f"{collective}-libraries", _libraries_figure(together)


def file_name(name: str) -> str:
    """Returns a library's name as part of a file name: `open-mpi-4.1.4`."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def _figure(run: StudyRun, what: str, lines: Sequence[Curve]) -> Figure:
    figure, axes = _empty(f"{run.title}: {what}", run.run)
    _draw_all(axes, lines)
    if any(curve.kind is None for curve in lines):
        _name_best(axes, run)
    _finish(figure, axes, [run])
    return figure


def _libraries_figure(runs: Sequence[StudyRun]) -> Figure:
    first = runs[0].run
    title = f"{first.collective.function} of {first.type}, {runs[0].place}: the libraries compared"
    figure, axes = _empty(title, first)
    _draw_all(axes, library_curves(runs))
    _finish(figure, axes, runs)
    return figure


def _empty(title: str, run: Run) -> tuple[Figure, Axes]:
    figure = new_figure(_WIDTH, 4.8)
    axes = figure.subplots()
    figure.suptitle(title, fontsize=11)
    axes.set_xlabel(f"message size ({run.collective.message})")
    axes.set_ylabel("algorithm bandwidth (MB/s)")
    return figure, axes


def _draw_all(axes: Axes, curves: Sequence[Curve]) -> None:
    """Draw curves, all with the bands of their intervals, or if they are many, only what users get."""
    for curve in curves:
        _draw(axes, curve, is_banded=len(curves) <= _MOST_BANDS or curve.kind in (Kind.NATIVE, Kind.STRETTO))


def _draw(axes: Axes, curve: Curve, *, is_banded: bool) -> None:
    sizes = [row.series.bytes for row in curve.rows]
    best = curve.kind is None and curve.style.width > 4
    axes.plot(
        sizes,
        [row.bandwidth.median / 1e6 for row in curve.rows],
        color=curve.style.colour,
        linestyle=_LINESTYLES[curve.style.dash],
        linewidth=curve.style.width,
        marker=None if best else _marker(curve),
        markersize=4.5,
        alpha=0.4 if best else 1,
        solid_capstyle="round",
        zorder=1.5 if best else 3 if curve.kind in (Kind.NATIVE, Kind.STRETTO) else 2,
        label=curve.label,
    )
    if is_banded and not best:
        axes.fill_between(
            sizes,
            [row.bandwidth.low / 1e6 for row in curve.rows],
            [row.bandwidth.high / 1e6 for row in curve.rows],
            color=curve.style.colour,
            alpha=0.1,
            linewidth=0,
        )


def _marker(curve: Curve) -> str:
    return "x" if curve.label == NATIVE_LABEL else _MARKERS[curve.style.marker % len(_MARKERS)]


def _name_best(axes: Axes, run: StudyRun) -> None:
    """Label BEST with its candidate wherever that changes."""
    before = ""
    for size in run.sizes:
        label = label_of(size.best.series.spec)
        if label != before and gain_of(size.best).median > 1:
            axes.annotate(
                without_parameters(label),
                (size.bytes, size.best.bandwidth.median / 1e6),
                xytext=(0, 9),
                textcoords="offset points",
                ha="left" if size is run.sizes[0] else "right" if size is run.sizes[-1] else "center",
                fontsize=7,
                color="#7a5500",
            )
        before = label


def _finish(figure: Figure, axes: Axes, runs: Sequence[StudyRun]) -> None:
    sizes = sorted({size.bytes for run in runs for size in run.sizes})
    bound = next((run.bound for run in runs if run.bound), None)
    if bound:
        draw_bound(axes, bound, sizes)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(which="major", alpha=0.35)
    axes.grid(which="minor", axis="y", alpha=0.12)
    label_sizes(axes, sizes)
    label_numbers(axes.yaxis)
    legend_below(figure, _WIDTH)
