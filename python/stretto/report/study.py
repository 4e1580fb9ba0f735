# SPDX-License-Identifier: Apache-2.0
"""The report's sections on studies: throughput over message size, and gains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stretto.plots.runs import bound_line
from stretto.report.gains import gains_table, ranking_table
from stretto.report.page import (
    Chart,
    KeyFigure,
    Section,
    axis,
    chart_text,
    layout,
    log_axis,
)
from stretto.results.runs import Row
from stretto.spec.labels import Kind, label_of
from stretto.study.analysis import gain_of, mean_gains
from stretto.study.curves import Curve, best_curve, curves, library_curves
from stretto.study.file import Study, StudyRun
from stretto.support.units import format_bytes, format_percent, format_rate, format_seconds, three_digits

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "pentagon", "star")
_GROUPS = {
    None: (1, "reference", "Reference"),
    Kind.NATIVE: (1, "reference", "Reference"),
    Kind.STRETTO: (1, "reference", "Reference"),
    Kind.LIBRARY: (2, "library", "The library's own algorithms"),
    Kind.PIPELINING: (3, "pipelining", "The library's non-blocking call"),
    Kind.OWN: (4, "own", "Stretto's algorithms"),
}
_MOST_TICKS = 12
_MOST_NAMED_SIZES = 4
_ENOUGH = 6
"""The least number of repetitions for which an interval can hold 95 %."""


def sections(studies: Sequence[Study]) -> list[Section]:
    """Returns sections with throughput and gains; no section without studies."""
    shown = [(study, run) for study in studies for run in study.runs if run.sizes]
    if not shown:
        return []
    throughput = Section(
        "throughput",
        "Throughput over message size",
        "Message bytes per second. MPI default: the MPI library's own choice. BEST: the fastest spec "
        "measured at that size. Stretto: Stretto's own choice. Click a line in the legend to hide or show "
        "it; double-click to see only that line.",
    )
    for index, (study, run) in enumerate(shown):
        throughput.items.append(throughput_chart(f"throughput-{index + 1}", study, run))
    for index, together in enumerate(_compared([run for _, run in shown])):
        throughput.items.append(libraries_chart(f"libraries-{index + 1}", together))
    gains = Section(
        "gains",
        "Gains",
        "Gain: times faster than the MPI default, in pairs measured alternately in one run, with 95 % "
        "confidence intervals. BEST is slightly too high, as the best of many is partly luck.",
        [gains_table("gains-table", [run for _, run in shown])],
    )
    for index, together in enumerate(_compared([run for _, run in shown])):
        gains.items.append(ranking_table(f"ranking-{index + 1}", together))
    throughput.figures = [figure for _, run in shown for figure in _key_figures(run)]
    return [throughput, gains]


def _compared(runs: Sequence[StudyRun]) -> list[list[StudyRun]]:
    """Returns groups of runs of the same collective on the same nodes, with several libraries."""
    groups: dict[tuple[str, tuple[int, ...]], list[StudyRun]] = {}
    for run in runs:
        groups.setdefault((run.run.collective.name, tuple(run.run.ppn)), []).append(run)
    return [group for group in groups.values() if len({run.name for run in group}) > 1]


def _key_figures(run: StudyRun) -> list[KeyFigure]:
    where = f"{run.run.collective.name}, {run.name}, {run.place}"
    mean = mean_gains(run.sizes).stretto
    if mean is None:
        return []
    sizes = sizes_text([one.bytes for one in run.sizes if one.in_middle and one.stretto])
    figure = f"{three_digits(mean)}\u00d7"
    return [KeyFigure(figure, f"Stretto over the MPI default, {sizes}: {where}", mean < 1)]


def sizes_text(sizes: Sequence[int]) -> str:
    """Returns the sizes of a mean, as text: `at 1 MiB`, `mean of 1 MiB and 4 MiB`."""
    texts = [format_bytes(size) for size in sorted(sizes)]
    if len(texts) == 1:
        return f"at {texts[0]}"
    if len(texts) <= _MOST_NAMED_SIZES:
        return f"mean of {', '.join(texts[:-1])} and {texts[-1]}"
    return f"mean of the {len(texts)} sizes measured from {texts[0]} to {texts[-1]}"


def warnings(run: StudyRun) -> list[str]:
    """Returns what a reader must know before trusting a run, in the words of bench and study."""
    counts = [len(row.series.seconds) for row in run.rows]
    lines = list(run.busy)
    if counts and min(counts) < _ENOUGH:
        lines.append(
            f"fewer than {_ENOUGH} repetitions ({min(counts)}): the intervals are the whole range and hold "
            "less than 95 %"
        )
    if run.run.skipped:
        sizes = ", ".join(map(format_bytes, run.run.skipped))
        lines.append(f"the budget was too short for {sizes}")
    if run.incomplete:
        lines.append(f"incomplete: {run.incomplete}")
    wrong = [row.series.label for row in run.rows if not row.series.correct]
    if wrong:
        lines.append(f"wrong results of {', '.join(dict.fromkeys(wrong))}")
    return lines


def where_text(study: Study, run: StudyRun) -> str:
    """Returns the machine and date of a measurement."""
    machine = run.machine
    cpu = f", {machine.get('cores', '?')} cores of {machine['cpu']}" if "cpu" in machine else ""
    date = f", {run.date[:10]}" if run.date else ""
    return f"{study.where}{cpu}{date}"


def _repetitions(run: StudyRun) -> str:
    counts = [len(row.series.seconds) for row in run.rows]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def size_axis(sizes: Iterable[int], title: str) -> dict[str, Any]:
    """Returns a logarithmic axis of message sizes, with ticks at as many of them as there is room for."""
    ascending = sorted(set(sizes))
    step = -(-len(ascending) // _MOST_TICKS)
    ticks = ascending[::-1][::step]
    return axis(title, type="log", tickvals=ticks, ticktext=[format_bytes(size) for size in ticks])


def throughput_chart(identity: str, study: Study, run: StudyRun) -> Chart:
    """Returns a chart with a line for each spec; BEST is broad and pale, the bound is dashed."""
    # The last line is drawn on top.
    others = [kind for kind in Kind if kind not in (Kind.NATIVE, Kind.STRETTO)]
    lines = [best_curve(run), *curves(run, others), *curves(run, (Kind.NATIVE, Kind.STRETTO))]
    data = [trace(curve) for curve in lines] + bound_trace(run)
    caption = (
        f"{run.title}. Medians of {_repetitions(run)} repetitions, timed by the slowest rank, "
        f"{where_text(study, run)}." + (" Dashed: the bound of the links." if bound_trace(run) else "")
    )
    sizes = [size.bytes for size in run.sizes]
    chart_layout = layout(
        xaxis=size_axis(sizes, f"message size ({run.run.collective.message})"),
        yaxis=log_axis("algorithm bandwidth (MB/s)", (value for line in data for value in line["y"])),
        legend={"groupclick": "toggleitem", "font": {"size": 12}, "tracegroupgap": 6},
    )
    height = max(460, 130 + 24 * len(data))
    return Chart(identity, run.title, caption, data, chart_layout, height, warnings(run))


def libraries_chart(identity: str, runs: Sequence[StudyRun]) -> Chart:
    """Returns a chart of the MPI default, BEST and Stretto for each library."""
    first = runs[0]
    data = []
    for curve in library_curves(runs):
        library = next(run.name for run in runs if curve.label.startswith(run.name))
        group = {"legendgroup": library, "legendgrouptitle": {"text": chart_text(library)}, "legendrank": 1}
        data.append(trace(curve) | group | {"name": curve.label.removeprefix(f"{library} ")})
    data += bound_trace(next((run for run in runs if run.bound), first))
    sizes = {size.bytes for run in runs for size in run.sizes}
    title = f"{first.run.collective.function} of {first.run.type}, {first.place}: the libraries compared"
    caption = (
        "Dashed: MPI default; dotted: BEST; solid: Stretto with that library. The libraries ran one after "
        "the other, so small differences between them mean nothing."
    )
    chart_layout = layout(
        xaxis=size_axis(sizes, f"message size ({first.run.collective.message})"),
        yaxis=log_axis("algorithm bandwidth (MB/s)", (value for line in data for value in line["y"])),
        legend={"groupclick": "toggleitem", "font": {"size": 12}, "tracegroupgap": 6},
    )
    return Chart(identity, title, caption, data, chart_layout)


def trace(curve: Curve) -> dict[str, Any]:
    """Returns a line of a chart, with hover texts."""
    style = curve.style
    is_band = curve.kind is None and style.width > 4
    rank, group, title = _GROUPS[curve.kind]
    result: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines" if is_band else "lines+markers",
        "name": chart_text(curve.label),
        "x": [row.series.bytes for row in curve.rows],
        "y": [row.bandwidth.median / 1e6 for row in curve.rows],
        "text": [chart_text(_hover(curve, row)).replace("\n", "<br>") for row in curve.rows],
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": style.colour, "width": style.width, "dash": style.dash},
        "opacity": 0.4 if is_band else 1,
        "legendgroup": group,
        "legendgrouptitle": {"text": title},
        "legendrank": rank,
    }
    if not is_band:
        symbol = "x" if curve.kind == Kind.NATIVE else _SYMBOLS[style.marker % len(_SYMBOLS)]
        result["marker"] = {"symbol": symbol, "size": 7}
    if curve.kind in (Kind.NATIVE, Kind.STRETTO):
        result["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [(row.bandwidth.high - row.bandwidth.median) / 1e6 for row in curve.rows],
            "arrayminus": [(row.bandwidth.median - row.bandwidth.low) / 1e6 for row in curve.rows],
            "thickness": 1,
            "width": 3,
        }
    return result


def _hover(curve: Curve, row: Row) -> str:
    series = row.series
    name = curve.label if curve.kind else f"{curve.label}: {label_of(series.spec)}"
    chosen = f"\nchosen: {series.chosen}" if series.chosen != series.spec else ""
    gain = gain_of(row)
    bound = f"\n{format_percent(row.bound_share)} of the bound" if row.bound_share is not None else ""
    return (
        f"{name}, {format_bytes(series.bytes)}{chosen}"
        f"\n{row.bandwidth.text(1e6)} MB/s"
        f"\n{format_seconds(row.seconds.median)}, {gain.text()} times the MPI default's speed{bound}"
    )


def bound_trace(run: StudyRun) -> list[dict[str, Any]]:
    """Returns a dashed line at the sizes for which the bound is stated; empty if there are none."""
    stated = bound_line(run.bound, [size.bytes for size in run.sizes]) if run.bound else []
    if not run.bound or not stated:
        return []
    name = f"bound of {format_rate(run.bound.rate)} links"
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": [size for size, _ in stated],
            "y": [limit / 1e6 for _, limit in stated],
            "line": {"color": "#000000", "width": 1.5, "dash": "dash"},
            "hovertemplate": f"{name}: %{{y:.4g}} MB/s<extra></extra>",
            "legendgroup": "reference",
            "legendgrouptitle": {"text": "Reference"},
            "legendrank": 1,
        }
    ]
