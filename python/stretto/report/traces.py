# SPDX-License-Identifier: Apache-2.0
"""The report's section on traces: slow collectives, and which ranks came last."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.report.bars import Bars, Piece, bars_chart, unique
from stretto.report.page import Cell, Column, KeyFigure, Section, Table, number
from stretto.results.runs import BLOCKING
from stretto.studies.figures import file_name
from stretto.support.units import format_bytes, format_count, format_percent, format_seconds
from stretto.trace.summary_file import LateRank, SlowCollective, TraceSummary
from stretto.trace.table import clock_notes, missing_text

_WAIT = "#E69F00"
_WORK = "#0072B2"
_MICROSECOND = 1e-6


def sections(found: Sequence[tuple[str, TraceSummary]]) -> list[Section]:
    """Returns a section with slow collectives, late ranks, and each rank's time; none without traces."""
    if not found:
        return []
    section = Section(
        "trace",
        "Trace",
        "The slowest collectives of a job, and the ranks for which others waited (stretto trace). Wait: from "
        "the first arrival to the last. Work: from there to the last end.",
    )
    for index, (name, one) in enumerate(found, 1):
        stem = file_name(Path(name).stem)
        caption = f"{name}: {format_count(one.totals.collectives, 'collective')}. The slowest by work."
        section.items.append(
            bars_chart(f"trace-{index}", f"trace-{stem}", slow_bars(name, one), caption, warnings(one))
        )
        section.items.append(slow_table(f"trace-table-{index}", one.slowest))
        caption = "Time of each rank inside collectives, and how much of it was waiting for late ranks."
        section.items.append(
            bars_chart(f"trace-ranks-{index}", f"trace-ranks-{stem}", rank_bars(name, one), caption)
        )
        section.items.append(late_table(f"trace-late-{index}", name, one))
        section.figures.append(
            KeyFigure(
                format_percent(one.totals.waiting_share),
                f"of the time inside {format_count(one.totals.collectives, 'collective')} was waiting for "
                f"late ranks: {name}",
            )
        )
    return [section]


def warnings(one: TraceSummary) -> list[str]:
    """Returns what a reader must know before trusting a trace."""
    lines = [*one.complaints, *([missing_text(one.missing)] if one.missing else [])]
    totals = one.totals
    if totals.incomplete:
        what = format_count(totals.incomplete, "collective")
        lines.append(f"{what} without the traces of all ranks: a rank without a trace may have been the last")
    if totals.overlapping:
        what = format_count(totals.overlapping, "collective")
        lines.append(f"{what} not blocking: the ranks may have computed meanwhile")
    return lines + clock_notes(one.clock_error_us, totals.within_clock_errors, totals.contradictions)


def _seconds(microseconds: float) -> str:
    return format_seconds(microseconds * _MICROSECOND) if microseconds else "0"


def _time(microseconds: float) -> Cell:
    return number(microseconds, _seconds(microseconds))


def _rank(rank: int | None) -> Cell:
    return number(-1, "several") if rank is None else number(rank, str(rank))


def _last_text(one: SlowCollective) -> str:
    if one.last_rank is None or one.lateness_us is None:
        return "several ranks"
    return f"rank {one.last_rank}, {_seconds(one.lateness_us)} after the median"


def slow_bars(name: str, summary: TraceSummary) -> Bars:
    """Returns a bar for each of the slowest collectives: waiting and work."""
    slow = summary.slowest
    bars = unique([f"{one.collective}, {format_bytes(one.bytes)}, call {one.sequence}" for one in slow])
    texts = [
        f"{one.collective} {one.sequence} of {one.communicator}, {format_bytes(one.bytes)}\n{one.spec}"
        f"\nwait {_seconds(one.wait_us)}, work {_seconds(one.work_us)}"
        f"\nlast: {_last_text(one)}"
        for one in slow
    ]
    pieces = list(zip(bars, slow, texts, strict=True))
    return Bars(
        f"{name}: slow collectives",
        bars,
        [
            ("wait", _WAIT, [Piece(bar, one.wait_us * _MICROSECOND, text) for bar, one, text in pieces]),
            ("work", _WORK, [Piece(bar, one.work_us * _MICROSECOND, text) for bar, one, text in pieces]),
        ],
    )


def rank_bars(name: str, summary: TraceSummary) -> Bars:
    """Returns a bar for each rank: the time in collectives."""
    ranks = summary.totals.by_rank
    waiting, rest = [], []
    for one in ranks:
        bar = f"rank {one.rank}"
        text = f"{bar}: {_seconds(one.inside_us)} in collectives, {_seconds(one.waiting_us)} of it waiting"
        waiting.append(Piece(bar, one.waiting_us * _MICROSECOND, text))
        rest.append(Piece(bar, max(0.0, one.inside_us - one.waiting_us) * _MICROSECOND, text))
    return Bars(
        f"{name}: time in collectives",
        [f"rank {one.rank}" for one in ranks],
        [("waiting for late ranks", _WAIT, waiting), ("the rest", _WORK, rest)],
    )


def slow_table(identity: str, slow: Sequence[SlowCollective]) -> Table:
    """Returns a table with a row for each of the slowest collectives."""
    rows = [
        [
            Cell(one.collective if one.form == BLOCKING else f"{one.collective}, {one.form}"),
            number(one.sequence, str(one.sequence)),
            Cell(one.communicator),
            number(one.bytes, format_bytes(one.bytes)),
            Cell(one.spec, mark="wide"),
            number(one.ranks, str(one.ranks)),
            _time(one.total_us),
            _time(one.work_us),
            _time(one.wait_us),
            _rank(one.last_rank),
            Cell("") if one.lateness_us is None else number(one.lateness_us, f"+{_seconds(one.lateness_us)}"),
        ]
        for one in slow
    ]
    columns = [
        Column("collective"),
        Column("call", number=True),
        Column("communicator"),
        Column("size", number=True),
        Column("spec"),
        Column("ranks", number=True),
        Column("total", number=True),
        Column("work", number=True),
        Column("wait", number=True),
        Column("last rank", number=True),
        Column("later than the median", number=True),
    ]
    return Table(identity, "", "Last rank: the one that arrived last.", columns, rows, (0, 3, 4))


def late_table(identity: str, name: str, summary: TraceSummary) -> Table:
    """Returns a table with a row for each late rank."""
    columns = [
        Column("rank", number=True),
        Column("came last", number=True),
        Column("of its collectives", number=True),
        Column("waited for it", number=True),
        Column("alone", number=True),
    ]
    caption = (
        "Waited for it: waiting time of all other ranks together. Alone: the part in which only this rank "
        "was missing. Several: the last ranks arrived too close together to tell which was the last."
    )
    rows = [_late_cells(one) for one in summary.late]
    return Table(identity, f"{name}: ranks that came last", caption, columns, rows)


def _late_cells(one: LateRank) -> list[Cell]:
    return [
        _rank(one.rank),
        number(one.times, str(one.times)),
        number(one.collectives, str(one.collectives)),
        _time(one.waited_us),
        Cell("") if one.rank is None else _time(one.waited_alone_us),
    ]
