# SPDX-License-Identifier: Apache-2.0
"""The table that `stretto bench` prints, and the notes below it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.results.runs import BLOCKING, Overlap, Row, Run
from stretto.spec.collectives import LinkBound
from stretto.spec.native import NATIVE
from stretto.support.estimates import Estimate
from stretto.support.units import (
    format_bandwidth,
    format_bytes,
    format_place,
    format_rate,
    format_seconds,
    seconds_unit,
    three_digits,
)


@dataclass(frozen=True)
class _Column:
    title: str
    cell: Callable[[Row], str]
    justify_right: bool = True
    shown: bool = True


def _interval(estimate: Estimate, unit: float = 1.0) -> str:
    median, low, high = (
        three_digits(value / unit) for value in (estimate.median, estimate.low, estimate.high)
    )
    return f"{median} [dim]({low}-{high})[/]"


def _time(estimate: Estimate) -> str:
    # All three have the same unit, so that they compare at a glance.
    factor, unit = seconds_unit(estimate.median)
    return f"{_interval(estimate, factor)} {unit}"


def _chosen(row: Row) -> str:
    return row.series.chosen if row.series.chosen != row.series.spec else ""


def _versus_native(row: Row) -> str:
    return _interval(row.speedup) if row.speedup and row.native is not row.series else ""


def _median_versus_native(row: Row) -> str:
    return three_digits(row.speedup.median) if row.speedup and row.native is not row.series else ""


def _overlap_columns() -> list[_Column]:
    def of(cell: Callable[[Overlap], str]) -> Callable[[Row], str]:
        return lambda row: cell(row.overlap) if row.overlap else ""

    return [
        _Column("t_pure (95 %)", lambda row: _time(row.seconds)),
        _Column("t_CPU (95 %)", of(lambda overlap: _time(overlap.computation))),
        _Column("t_ovrl (95 %)", of(lambda overlap: _time(overlap.overlapped))),
        _Column("hidden (95 %)", of(lambda overlap: f"{_interval(overlap.hidden, 0.01)} %")),
    ]


def _columns(rows: list[Row]) -> list[_Column]:
    return [
        *_case_columns(rows),
        *(_overlap_columns() if any(row.overlap for row in rows) else _speed_columns(rows)),
    ]


def _have_bytes(rows: list[Row]) -> bool:
    """Whether there are messages; a barrier has none."""
    return any(row.series.bytes for row in rows)


def _case_columns(rows: list[Row]) -> list[_Column]:
    return [
        _Column("size", lambda row: format_bytes(row.series.bytes), shown=_have_bytes(rows)),
        _Column(
            "in place",
            lambda row: "yes" if row.series.in_place else "no",
            justify_right=False,
            shown=_have_bytes(rows),
        ),
        _Column("spec", lambda row: row.series.label, justify_right=False),
        _Column(
            "chosen",
            _chosen,
            justify_right=False,
            shown=any(map(_chosen, rows)),
        ),
    ]


def _speed_columns(rows: list[Row]) -> list[_Column]:
    # In virtual time each call is made once, so there are no intervals.
    scatters = any(len(row.series.seconds) > 1 for row in rows)
    interval = " (95 %)" if scatters else ""
    time = _time if scatters else lambda estimate: format_seconds(estimate.median)
    versus = _versus_native if scatters else _median_versus_native
    return [
        _Column(f"time{interval}", lambda row: time(row.seconds)),
        _Column("MB/s", lambda row: format_bandwidth(row.bandwidth.median), shown=_have_bytes(rows)),
        _Column(
            f"speedup{interval}",
            versus,
            shown=any(map(versus, rows)),
        ),
        _Column(
            "of bound",
            lambda row: "" if row.bound_share is None else f"{100 * row.bound_share:.1f} %",
            shown=any(row.bound_share is not None for row in rows),
        ),
    ]


def results_table(rows: list[Row]) -> Table:
    """The table, with a line for each size, place, spec and form."""
    columns = [column for column in _columns(rows) if column.shown]
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.justify_right else "left",
            no_wrap=column.title not in ("spec", "chosen"),
            overflow="fold",
        )
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        case = (row.series.bytes, row.series.in_place)
        table.add_row(
            *(column.cell(row) for column in columns),
            end_section=after is not None and (after.series.bytes, after.series.in_place) != case,
            style=None if row.series.correct else "bold red",
        )
    return table


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


def _bound_lines(run: Run, bound: LinkBound | None) -> list[str]:
    if bound is None or run.overlaps:
        return []
    least = f", for {format_bytes(bound.least_bytes)} and more" if bound.least_bytes else ""
    return [f"bound: links of {format_rate(bound.rate)}{bound.formula}{least}"]
