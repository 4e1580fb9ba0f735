# SPDX-License-Identifier: Apache-2.0
"""The report's section on profiles: which collectives took the time, and when gradients are ready."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots.pictures import add_tip, new_figure
from stretto.plots.style import label_seconds
from stretto.report.bars import Bars, Piece, bars_chart
from stretto.report.calls import spec_colours
from stretto.report.page import (
    Cell,
    Chart,
    Column,
    KeyFigure,
    Section,
    Table,
    number,
)
from stretto.results.runs import BLOCKING
from stretto.studies.figures import file_name
from stretto.support.units import format_bytes, format_percent, format_place, format_seconds
from stretto.trace.profile_file import Calls, Profile, Training
from stretto.trace.profile_table import profile_clock_notes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_BARS = 20


def sections(found: Sequence[tuple[str, Profile]]) -> list[Section]:
    """Returns a section with collectives by time and gradients of trainings; none without profiles."""
    if not found:
        return []
    section = Section(
        "profile",
        "Profile",
        "The collectives that a program called (stretto profile). Times are means over ranks, from the first "
        "call to the end of the last.",
    )
    for index, (name, one) in enumerate(found, 1):
        stem = file_name(Path(name).stem)
        caption = _caption(name, one)
        notes = profile_clock_notes(one)
        section.items.append(
            bars_chart(f"profile-{index}", f"profile-{stem}", profile_bars(name, one), caption, notes)
        )
        section.items.append(calls_table(f"profile-table-{index}", one))
        section.figures.append(
            KeyFigure(
                format_percent(one.share),
                f"of {format_seconds(one.seconds)} inside collectives, {_part(one.waiting, one.inside)} "
                f"of it waiting for late ranks: {name}",
            )
        )
        if one.training:
            section.items.append(
                gradients_chart(f"profile-gradients-{index}", f"gradients-{stem}", name, one.training)
            )
            section.items.append(gradients_table(f"profile-gradients-table-{index}", one.training))
    return [section]


def _part(part: float, whole: float) -> str:
    return format_percent(part / whole) if whole else format_percent(0)


def _name(one: Calls) -> str:
    form = "" if one.form == BLOCKING else f", {one.form}"
    return f"{one.collective}{form}, {format_bytes(one.bytes)}"


def profile_bars(name: str, profile: Profile) -> Bars:
    """Returns a bar, divided by spec, for each of the collectives and sizes that took most time."""
    times: dict[str, float] = {}
    for one in profile.collectives:
        times[_name(one)] = times.get(_name(one), 0.0) + one.inside
    bars = sorted(times, key=lambda bar: -times[bar])[:_MOST_BARS]
    specs: dict[str, dict[str, list[Calls]]] = {}
    for one in profile.collectives:
        if _name(one) in bars:
            specs.setdefault(one.spec, {}).setdefault(_name(one), []).append(one)
    palette = spec_colours(list(specs))
    kinds = [
        (spec, palette[spec], [_piece(bar, some) for bar, some in by.items()]) for spec, by in specs.items()
    ]
    return Bars(f"{name}: time in collectives", bars, kinds)


def _piece(bar: str, some: Sequence[Calls]) -> Piece:
    """Returns the calls of a bar with one spec. Their communicators may differ in the number of ranks."""
    seconds = sum(one.inside for one in some)
    calls = sum(one.calls for one in some)
    median = format_seconds(max(one.seconds.median for one in some))
    return Piece(
        bar, seconds, f"{bar}\n{some[0].spec}\n{calls:,} calls, {format_seconds(seconds)}, {median} each"
    )


def _caption(name: str, one: Profile) -> str:
    shown = len({_name(call) for call in one.collectives})
    most = f" The {_MOST_BARS} of {shown} with most time." if shown > _MOST_BARS else ""
    return (
        f"{name}: {format_place(one.ranks, one.nodes)}. Time inside collectives, by collective and message "
        f"size. Colours are specs; grey is the MPI default.{most}"
    )


def _time(seconds: float) -> Cell:
    return number(seconds, format_seconds(seconds) if seconds else "0")


def calls_table(identity: str, profile: Profile) -> Table:
    """Returns a table with a row for each kind of calls."""
    rows = [
        [
            Cell(one.collective if one.form == BLOCKING else f"{one.collective}, {one.form}"),
            number(one.bytes, format_bytes(one.bytes)),
            Cell(one.spec, mark="wide"),
            number(one.ranks, str(one.ranks)),
            number(one.calls, f"{one.calls:,}"),
            _time(one.inside),
            number(one.inside, _part(one.inside, profile.seconds)),
            _time(one.seconds.median),
            _time(one.seconds.p95),
            _time(one.arrival.median),
            _time(one.gap.median),
        ]
        for one in sorted(profile.collectives, key=lambda one: -one.inside)
    ]
    columns = [
        Column("collective"),
        Column("size", number=True),
        Column("spec"),
        Column("ranks", number=True),
        Column("calls", number=True),
        Column("time", number=True),
        Column("of all", number=True),
        Column("a call", number=True),
        Column("95 %", number=True),
        Column("arrivals apart", number=True),
        Column("gap before", number=True),
    ]
    caption = (
        "Time: inside all these calls. A call: the median from the first rank's arrival to the last end; 95 "
        "%: at most 5 % take longer. Arrivals apart: from the first rank's to the last. Gap before: the time "
        "outside collectives."
    )
    return Table(identity, "", caption, columns, rows, (0, 1, 2))


def gradients_chart(identity: str, file: str, name: str, training: Training) -> Chart:
    """Returns a chart of the bytes of gradients that are ready, over the time since a step began."""
    messages = sum(one.per_step for one in training.messages)
    megabytes = sum(one.bytes for one in training.gradients) / 1e6
    caption = (
        f"{name}, {training.framework}: {training.steps} steps of {format_seconds(training.step_seconds)}. "
        f"{len(training.gradients)} gradients of {megabytes:.3g} MB are summed in {messages:.1f} messages a "
        "step. What is left of a step after the last gradient is communication that nothing hides. Times of "
        f"gradients: \u00b1 {format_seconds(training.uncertainty_seconds)}."
    )
    title = f"{name}: when gradients are ready"
    return Chart(identity, title, caption, file, lambda: gradients_figure(title, training))


def gradients_figure(title: str, training: Training) -> Figure:
    """Returns a figure of the bytes of gradients that are ready, over the time since a step began."""
    figure = new_figure(8.2, 3.8)
    figure.suptitle(title, fontsize=11)
    axes = figure.subplots()
    ordered = sorted(training.gradients, key=lambda one: one.ready)
    megabytes = [done / 1e6 for done in accumulate(one.bytes for one in ordered)]
    axes.step([one.ready for one in ordered], megabytes, "o-", where="post", color="#0072B2", markersize=3.5)
    for one, done in zip(ordered, megabytes, strict=True):
        add_tip(
            axes, one.ready, done, f"{one.name}\n{format_bytes(one.bytes)}, after {format_seconds(one.ready)}"
        )
    axes.axvline(training.compute_seconds, color="#6b7684", linestyle="--", label="the last gradient")
    axes.axvline(training.step_seconds, color="#D55E00", linestyle="--", label="the end of a step")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="time since the step began", ylabel="gradients that are ready (MB)")
    label_seconds(axes.xaxis)
    axes.grid(which="major", alpha=0.35)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def gradients_table(identity: str, training: Training) -> Table:
    """Returns a table with a row for each gradient."""
    rows = [
        [Cell(one.name), number(one.bytes, format_bytes(one.bytes)), _time(one.ready)]
        for one in sorted(training.gradients, key=lambda one: one.ready)
    ]
    columns = [Column("gradient"), Column("size", number=True), Column("ready after", number=True)]
    return Table(identity, "", "Ready after: computation since the step began.", columns, rows)
