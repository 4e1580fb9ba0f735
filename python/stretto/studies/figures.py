# SPDX-License-Identifier: Apache-2.0
"""Draws a study's figures, as the papers do: throughput over message size."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots.pictures import add_tip, new_figure, save_figure
from stretto.plots.runs import draw_bound
from stretto.plots.style import label_numbers, label_sizes, legend_below
from stretto.results.runs import Row, Run
from stretto.spec.labels import NATIVE_LABEL, Kind, label_of, without_parameters
from stretto.studies.analysis import gain_of
from stretto.studies.curves import Curve, best_curve, curves, library_curves
from stretto.studies.file import StudyRun
from stretto.support.units import format_bytes, format_percent, format_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*"
_LINESTYLES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
_MOST_BANDS = 5
_WIDTH = 8.2


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure that is drawn when it is needed, as each needs much memory."""

    name: str
    """The name of its file, without a suffix."""
    title: str
    runs: Sequence[StudyRun]
    """The runs that it shows: one, or that of each library."""
    draw: Callable[[], Figure]


def write_figures(runs: Sequence[StudyRun], folder: Path) -> list[Path]:
    """Write all figures of a study. Returns the paths of the files."""
    files = []
    for picture in pictures(runs):
        file = folder / f"{picture.name}.png"
        save_figure(picture.draw(), file)
        files.append(file)
    return files


def pictures(runs: Sequence[StudyRun]) -> Iterator[Picture]:
    """Yields the figures of each run, and then those that compare libraries."""
    shown = [run for run in runs if run.sizes]
    for run in shown:
        name = f"{run.run.collective.name}-{file_name(run.name)}"
        library = curves(run, (Kind.NATIVE, Kind.LIBRARY))
        if len(library) > 1:
            yield _picture(run, f"{name}-library", "its own algorithms", library)
        pipelining = curves(run, (Kind.NATIVE, Kind.PIPELINING, Kind.STRETTO))
        if any(curve.kind == Kind.PIPELINING for curve in pipelining):
            yield _picture(run, f"{name}-pipelining", "non-blocking and pipelined", pipelining)
        best = [best_curve(run), *curves(run, (Kind.NATIVE, Kind.STRETTO, Kind.OWN))]
        yield _picture(run, f"{name}-stretto", "MPI default, BEST and Stretto", best)
    for together in compared(shown):
        first = together[0]
        title = f"{first.run.collective.function} of {first.run.type}, {first.place}: the libraries compared"
        draw = partial(_libraries_figure, together, title)
        yield Picture(f"{first.run.collective.name}-libraries", title, together, draw)


def compared(runs: Sequence[StudyRun]) -> list[list[StudyRun]]:
    """Returns groups of runs of the same collective on the same nodes, with several libraries."""
    groups: dict[tuple[str, tuple[int, ...]], list[StudyRun]] = {}
    for run in runs:
        groups.setdefault((run.run.collective.name, tuple(run.run.ppn)), []).append(run)
    return [group for group in groups.values() if len({run.name for run in group}) > 1]


def file_name(name: str) -> str:
    """Returns a library's name as part of a file name: `open-mpi-4.1.4`."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def _picture(run: StudyRun, name: str, what: str, lines: Sequence[Curve]) -> Picture:
    title = f"{run.title}: {what}"
    return Picture(name, title, [run], partial(_figure, run, title, lines))


def _figure(run: StudyRun, title: str, lines: Sequence[Curve]) -> Figure:
    figure, axes = _empty(title, run.run)
    _draw_all(axes, lines)
    if any(curve.kind is None for curve in lines):
        _name_best(axes, run)
    _finish(figure, axes, [run])
    return figure


def _libraries_figure(runs: Sequence[StudyRun], title: str) -> Figure:
    figure, axes = _empty(title, runs[0].run)
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
    for row in curve.rows:
        add_tip(axes, row.series.bytes, row.bandwidth.median / 1e6, _tip(curve, row))


def _tip(curve: Curve, row: Row) -> str:
    series = row.series
    name = curve.label if curve.kind else f"{curve.label}: {label_of(series.spec)}"
    chosen = f"\nchosen: {series.chosen}" if series.chosen != series.spec else ""
    bound = f"\n{format_percent(row.bound_share)} of the bound" if row.bound_share is not None else ""
    return (
        f"{name}, {format_bytes(series.bytes)}{chosen}"
        f"\n{row.bandwidth.text(1e6)} MB/s"
        f"\n{format_seconds(row.seconds.median)}, {gain_of(row).text()} times the MPI default's speed{bound}"
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
