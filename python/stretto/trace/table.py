# SPDX-License-Identifier: Apache-2.0
"""Prints the summary of a trace: tables, and notes on how to read them."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

from rich.text import Text

from stretto.support.console import print_lines
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bytes, format_count, format_percent, short_seconds
from stretto.trace.analysis import BLOCKING, Call, Collective, Late, Totals
from stretto.trace.files import TraceFolder
from stretto.trace.summary import Summary
from stretto.trace.timeline import Timeline


def print_problems(folder: TraceFolder) -> None:
    """Print a line on standard error for each file that cannot be used, and one for missing ranks."""
    for line in [*folder.complaints, *([missing_text(folder.missing)] if folder.missing else [])]:
        print(f"stretto: {line}", file=sys.stderr)


def print_summary(summary: Summary) -> None:
    """Print tables of slow collectives and late ranks, the totals, and notes."""
    if summary.slowest:
        slowest_table(summary.slowest).print()
    if summary.late:
        late_table(summary.late, {one.rank: one.node for one in summary.folder.traces}).print()
    print_lines([totals_line(summary.totals)], style="")
    print_lines(notes(summary) if summary.slowest else [])


def time_text(microseconds: float) -> str:
    """Returns a time in a suitable unit, with three digits."""
    if microseconds <= 0:
        return "0"
    return short_seconds(microseconds * 1e-6)


def call_text(call: Call) -> str:
    """Returns the call in words: `allreduce of 16 MiB by ring, rank 0 of 4`."""
    return f"{call.name} of {format_bytes(call.bytes)} by {call.spec}, rank {call.rank} of {call.ranks}"


def figures_text(timeline: Timeline) -> str:
    """Returns the time that a rank spent on each part of its call, as text."""
    its = timeline.figures
    parts = [f"{'in the MPI library' if timeline.is_by_library else 'messages'} {time_text(its.messages)}"]
    if its.reductions > 0:
        parts.append(f"reductions {time_text(its.reductions)}")
    if not timeline.copies:
        return f"{time_text(its.call)}: no copies, {', '.join(parts)}"
    each = f"to the host {time_text(its.to_host)}, back {time_text(its.to_device)}"
    parts = [f"copies {_ways(timeline)} {time_text(its.copies)} ({each})", *parts]
    return (
        f"{time_text(its.call)}: {', '.join(parts)}; copies and messages at once "
        f"{time_text(its.both)}, {format_percent(its.overlap)} of the call"
    )


def _ways(timeline: Timeline) -> str:
    spans = [copy.span for copy in timeline.copies]
    if any(span.segment is None for span in spans):
        return "as a whole"
    if timeline.segments > 1:
        return "by segments"
    return "in one segment" if all(span.part is None for span in spans) else "in parts"


def print_timelines(timelines: Sequence[Timeline]) -> None:
    """Print a line for each rank's call."""
    lines = [f"{call_text(one.call)}: {figures_text(one)}" for one in timelines]
    print_lines(lines, style="")


def _ranks_text(ranks: Sequence[int]) -> str:
    """Returns ranks as text, with runs shortened: `1, 4-7`."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def missing_text(ranks: Sequence[int]) -> str:
    """Returns a line about the ranks that left no file."""
    ranks_text = _ranks_text(ranks)
    if len(ranks) == 1:
        return f"rank {ranks_text} left no trace: it may have been killed before MPI_Finalize"
    return f"ranks {ranks_text} left no trace: they may have been killed before MPI_Finalize"


def _two_lines(above: str, below: str) -> Text:
    return Text.assemble(above, "\n", (below, "dim"))


def slowest_table(collectives: Sequence[Collective]) -> ResultTable[Collective]:
    """Returns a table of the slowest collectives, with two lines for each."""
    return ResultTable(
        [
            Column("collective", _sequence_text, left=True, is_key=True),
            Column("message, spec", _message_text, left=True, is_key=True),
            Column("ranks", _ranks_of, detail=2),
            Column("total", lambda one: time_text(one.total), detail=1),
            Column("work", lambda one: time_text(one.work)),
            Column("wait", lambda one: _two_lines(time_text(one.wait), format_percent(one.wait_share))),
            Column("last", _last_text, left=True, is_key=True),
        ],
        collectives,
        title="slowest collectives, by the work after the last arrival",
    )


def _sequence_text(one: Collective) -> Text:
    return _two_lines(one.last.name, f"{one.last.sequence} of {one.last.communicator}")


def _message_text(one: Collective) -> Text:
    call = one.last
    form = "" if call.form == BLOCKING else f", {call.form}"
    return _two_lines(format_bytes(call.bytes) + form, call.spec)


def _ranks_of(one: Collective) -> str | Text:
    ranks = str(one.last.ranks)
    return ranks if one.complete else _two_lines(ranks, f"({len(one.calls)})")


def _last_text(one: Collective) -> str | Text:
    if one.lateness is None:
        return "several"
    return _two_lines(f"rank {one.last.rank}", f"+{time_text(one.lateness)}")


def late_table(late: Sequence[Late], node_of: dict[int, int]) -> ResultTable[Late]:
    """Returns a table of late ranks, with a line for each."""

    def worst(one: Late) -> str:
        call = one.worst.last
        return f"{time_text(one.worst.waited)}, {call.name} {call.sequence} of {call.communicator}"

    return ResultTable(
        [
            Column("rank", lambda one: "several" if one.rank is None else str(one.rank), is_key=True),
            Column("node", lambda one: "" if one.rank is None else str(node_of[one.rank])),
            Column("last", lambda one: f"{one.times} of {one.collectives}"),
            Column("waited for it", lambda one: time_text(one.waited)),
            Column("alone", lambda one: "" if one.rank is None else time_text(one.waited_alone)),
            Column("at worst", worst, left=True, wraps=True, is_key=True),
        ],
        late,
        title="ranks that came last",
    )


def totals_line(totals: Totals) -> str:
    """Returns a line with the number of collectives, the time inside them, and the share of waiting."""
    times = list(totals.inside.values())
    low, high = time_text(min(times)), time_text(max(times))
    spread = f" ({low} to {high})" if low != high else ""
    return (
        f"{format_count(totals.collectives, 'collective')} on {format_count(len(times), 'rank')}; "
        f"a rank spent {time_text(statistics.median(times))}{spread} in them, "
        f"{format_percent(totals.waiting_share)} of it waiting for late ranks"
    )


def notes(summary: Summary) -> list[str]:
    """Returns lines with what a reader must know to understand the tables."""
    folder, totals = summary.folder, summary.totals
    lines = [
        "wait: from the first arrival to the last; work: from there to the last end",
        "last: the rank that arrived last, and how much later than the median",
    ]
    if summary.late:
        lines.append(
            "waited for it: waiting time of all other ranks together; alone: the part in which only this "
            "rank was missing"
        )
    if any(one.lateness is None for one in summary.slowest) or any(one.rank is None for one in summary.late):
        lines.append("several: the last ranks arrived too close together to tell which was the last")
    if totals.incomplete:
        what = format_count(totals.incomplete, "collective")
        lines.append(f"{what} without the traces of all ranks: a rank without a trace may have been the last")
    if totals.overlapping:
        what = format_count(totals.overlapping, "collective")
        lines.append(f"{what} not blocking: the ranks may have computed meanwhile")
    return lines + clock_notes(folder.clock_error, totals.within_clock_errors, totals.contradictions)


def clock_notes(error: float, within: int, contradictions: int) -> list[str]:
    """Returns lines with what clocks cannot tell; none if all ranks read the same clock.

    `error`: the largest clock error in microseconds; `within` and `contradictions`: see `Totals`.
    """
    lines = []
    if error > 0:
        text = time_text(error)
        lines.append(f"hosts' clocks agree to within {text}; a rank counts as late only beyond that")
    if within:
        lines.append(
            f"in {format_count(within, 'collective')} the ranks of all hosts arrived closer together than "
            "clocks can tell: the times are those of the host that took longest"
        )
    if contradictions:
        lines.append(
            f"in {format_count(contradictions, 'collective')} a rank had its result before another rank "
            "began: the clock errors are larger than stated, so do not trust the waiting times"
        )
    return lines
