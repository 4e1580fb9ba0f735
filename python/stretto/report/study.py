# SPDX-License-Identifier: Apache-2.0
"""The report's sections on studies: throughput over message size, and gains."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.report.gains import gains_table, ranking_table
from stretto.report.page import Chart, KeyFigure, Section
from stretto.studies.analysis import mean_gains
from stretto.studies.figures import Picture, compared, pictures
from stretto.studies.file import Study, StudyRun
from stretto.support.units import format_bytes, three_digits

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
        "measured at that size. Stretto: Stretto's own choice. Hover over a point to see its figures.",
    )
    for index, picture in enumerate(pictures([run for _, run in shown]), 1):
        throughput.items.append(_chart(f"throughput-{index}", picture, shown))
    gains = Section(
        "gains",
        "Gains",
        "Gain: times faster than the MPI default, in pairs measured alternately in one run, with 95 % "
        "confidence intervals. BEST is slightly too high, as the best of many is partly luck.",
        [gains_table("gains-table", [run for _, run in shown])],
    )
    for index, together in enumerate(compared([run for _, run in shown])):
        gains.items.append(ranking_table(f"ranking-{index + 1}", together))
    throughput.figures = [figure for _, run in shown for figure in _key_figures(run)]
    return [throughput, gains]


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


def _chart(identity: str, picture: Picture, shown: Sequence[tuple[Study, StudyRun]]) -> Chart:
    if len(picture.runs) > 1:
        caption = (
            "Dashed: MPI default; dotted: BEST; solid: Stretto with that library. The libraries ran one "
            "after the other, so small differences between them mean nothing."
        )
        return Chart(identity, picture.title, caption, picture.name, picture.draw)
    (run,) = picture.runs
    study = next(study for study, other in shown if other is run)
    caption = (
        f"Medians of {_repetitions(run)} repetitions, timed by the slowest rank, {where_text(study, run)}. "
        f"Pale: 95 % intervals.{' Dashed: the bound of the links.' if run.bound else ''}"
    )
    return Chart(identity, picture.title, caption, picture.name, picture.draw, warnings(run))
