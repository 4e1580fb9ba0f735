# SPDX-License-Identifier: Apache-2.0
"""The table that `stretto bench` prints, and the notes below it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from stretto.results.runs import BLOCKING, Overlap, Row, Run
from stretto.spec.collectives import LinkBound
from stretto.spec.native import NATIVE
from stretto.support.estimates import Estimate
from stretto.support.tables import Column, ResultTable
from stretto.support.units import (
    format_bandwidth,
    format_bytes,
    format_percent,
    format_place,
    format_range,
    format_rate,
    format_seconds,
    seconds_unit,
    short_seconds,
    three_digits,
)


def _time(seconds: float | None) -> str:
    return "" if seconds is None else short_seconds(seconds)


def _interval(estimate: Estimate) -> str:
    # The unit is that of the median, so that both compare at a glance.
    return format_range(estimate.low, estimate.high, seconds_unit(estimate.median)[0])


def _chosen(row: Row) -> str:
    return row.series.chosen if row.series.chosen != row.series.spec else ""


def _is_compared(row: Row) -> bool:
    return row.speedup is not None and row.native is not row.series


def _case_columns(*, is_place_shown: bool) -> list[Column[Row]]:
    def place(row: Row) -> str:
        return ("yes" if row.series.in_place else "no") if is_place_shown and row.series.bytes else ""

    return [
        Column("size", lambda row: format_bytes(row.series.bytes) if row.series.bytes else "", is_key=True),
        Column("in place", place, left=True),
        Column("spec", lambda row: row.series.label, left=True, is_key=True),
        Column("chosen", _chosen, left=True),
    ]


def _overlap_columns() -> list[Column[Row]]:
    def of(cell: Callable[[Overlap], str]) -> Callable[[Row], str]:
        return lambda row: cell(row.overlap) if row.overlap else ""

    return [
        Column("t_pure (95 %)", lambda row: row.seconds.seconds_text()),
        Column("t_CPU (95 %)", of(lambda overlap: overlap.computation.seconds_text())),
        Column("t_ovrl (95 %)", of(lambda overlap: overlap.overlapped.seconds_text())),
        Column("hidden (95 %)", of(lambda overlap: f"{overlap.hidden.text(0.01)} %")),
    ]


def _speed_columns(rows: Sequence[Row]) -> list[Column[Row]]:
    # In virtual time each call is made once, so there are no intervals.
    if all(len(row.series.seconds) == 1 for row in rows):
        return [
            Column("time", lambda row: format_seconds(row.seconds.median)),
            _BANDWIDTH,
            Column("speedup", lambda row: three_digits(row.speedup.median) if _is_compared(row) else ""),
            _OF_BOUND,
        ]
    return [
        Column("time", lambda row: _time(row.seconds.median)),
        Column("95 %", lambda row: _interval(row.seconds), detail=3),
        Column("min", lambda row: _time(row.extremes.min), detail=6),
        Column("p99", lambda row: _time(row.extremes.p99), detail=5),
        Column("max", lambda row: _time(row.extremes.max), detail=6),
        _BANDWIDTH,
        Column("bus MB/s", lambda row: _megabytes(row.bus_bandwidth), detail=4),
        Column(_SPEEDUP, lambda row: row.speedup.text() if _is_compared(row) else ""),
        _OF_BOUND,
        Column("wrong", lambda row: str(row.series.wrong), detail=2),
    ]


def _megabytes(value: float | None) -> str:
    return "" if value is None else format_bandwidth(value)


_BANDWIDTH = Column[Row](
    "MB/s", lambda row: format_bandwidth(row.bandwidth.median) if row.series.bytes else "", detail=1
)
_OF_BOUND = Column[Row](
    "of bound", lambda row: "" if row.bound_share is None else format_percent(row.bound_share, 1), detail=1
)


def results_table(rows: Sequence[Row]) -> ResultTable[Row]:
    """The table, with a line for each size, spec and form. Calls out of place and in place share a line.

    If overlap was measured, or not all cases both out of place and in place, each place has a line.
    """
    overlaps = any(row.overlap for row in rows)
    columns = _overlap_columns() if overlaps else _speed_columns(rows)
    in_place = {_case(row): row for row in rows if row.series.in_place}
    shown = [row for row in rows if not row.series.in_place]
    if overlaps or not in_place or [_case(row) for row in shown] != list(in_place):
        in_place, shown = {}, list(rows)
    else:
        columns += [_beside(one, in_place) for one in columns if one.title in _BESIDE]

    def is_correct(row: Row) -> bool:
        return row.series.correct and in_place.get(_case(row), row).series.correct

    return ResultTable(
        [*_case_columns(is_place_shown=not in_place), *columns],
        shown,
        section=lambda row: (row.series.bytes, row.series.in_place),
        style=lambda row: "" if is_correct(row) else "bold red",
    )


_SPEEDUP = "speedup (95 %)"
_BESIDE = ("time", "MB/s", "bus MB/s", "speedup", _SPEEDUP, "wrong")
"""The columns that calls in place have beside those out of place."""


def _case(row: Row) -> tuple[int, str]:
    """What calls out of place and in place have in common."""
    return row.series.bytes, row.series.label


def _beside(column: Column[Row], in_place: Mapping[tuple[int, str], Row]) -> Column[Row]:
    """The column for the calls in place."""
    detail = column.detail if column.title == "time" else max(column.detail, 1)
    cell = column.cell
    return replace(
        column, title=f"in place: {column.title}", cell=lambda row: cell(in_place[_case(row)]), detail=detail
    )


def _call(run: Run) -> str:
    collective = run.collective
    text = f"{collective.function} with root {run.root}" if collective.has_root else collective.function
    if run.skew is not None:
        whose = "what a rank has for the next one" if "alltoall" in collective.name else "rank 0's block"
        text += f", {100 * run.skew:g} % of the message in {whose},"
    return f"{text} of {run.type}" if collective.has_message else text


def _speed_note(run: Run) -> str:
    """What the columns mean; empty if there is neither a message nor an MPI default."""
    parts = []
    if run.collective.has_message:
        parts.append(f"MB/s: 10⁶ bytes of message ({run.collective.message}) by time")
        parts.append("bus MB/s: as in nccl-tests, from the bytes that each rank must send")
    first = next((series.label for series in run.series if series.spec == NATIVE), None)
    if first is not None:
        parts.append(f"speedup: how many times faster than {first}")
    return "; ".join(parts)


def _overlap_note(run: Run) -> str:
    tests = f"; MPI_Test every {format_seconds(run.test_every)} of the computation" if run.test_every else ""
    return (
        "t_pure: start and MPI_Wait; t_CPU: a computation alone; t_ovrl: start, computation, MPI_Wait; "
        f"hidden: t_pure + t_CPU - t_ovrl by the shorter of the first two, from 0 to 100 %{tests}"
    )


def notes(run: Run, bound: LinkBound | None, emulated: bool) -> list[str]:
    """The notes to print below the table."""
    thread = "STRETTO_PROGRESS_THREAD=1" if run.progress_thread else "no STRETTO_PROGRESS_THREAD"
    only_blocking = run.forms == [BLOCKING]
    where = format_place(run.ranks, run.nodes)
    lines = [
        f"{_call(run)}, {run.library}, {where}, Stretto {run.stretto}"
        + ("" if only_blocking and not run.progress_thread else f", {thread}")
    ]
    counts = [len(series.seconds) for series in run.series]
    few, many = min(counts, default=0), max(counts, default=0)
    meaning = _overlap_note(run) if run.overlaps else _speed_note(run)
    if run.virtual:
        how = "virtual time, by the slowest rank"
    else:
        how = f"medians of {few if few == many else f'{few} to {many}'} repetitions, each the slowest rank's"
    lines.append(f"{how}; {meaning}" if meaning else how)
    if run.virtual:
        return [*lines, *_bound_lines(run, bound)]
    if any(series.with_barrier for series in run.series):
        lines.append("each call is timed with a barrier after it, as ranks could run ahead of it otherwise")
    if few < 6:
        lines.append("fewer than 6 repetitions: the intervals are the whole range and hold less than 95 %")
    lines += _bound_lines(run, bound)
    cores = len(os.sched_getaffinity(0))
    if not emulated and run.nodes == 1 and run.ranks > cores:
        lines.append(f"{run.ranks} ranks share {cores} cores: how they wait for each other affects all times")
    return lines


def average_lines(rows: Sequence[Row]) -> list[str]:
    """A line with the average bus bandwidth over all sizes, as nccl-tests has it; none if it is not known."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.bus_bandwidth is not None and row.overlap is None:
            place = " in place" if row.series.in_place else ""
            found.setdefault(f"{row.series.label}{place}", []).append(row.bus_bandwidth)
    if not found:
        return []
    averages = ", ".join(f"{name} {format_bandwidth(fmean(its))}" for name, its in found.items())
    return [f"average bus MB/s: {averages}"]


def _bound_lines(run: Run, bound: LinkBound | None) -> list[str]:
    if bound is None or run.overlaps:
        return []
    least = f", for {format_bytes(bound.least_bytes)} and more" if bound.least_bytes else ""
    return [f"bound: links of {format_rate(bound.rate)}{bound.formula}{least}"]
