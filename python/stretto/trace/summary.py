# SPDX-License-Identifier: Apache-2.0
"""The summary of a job's traces: its slowest collectives, its late ranks, and its totals."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stretto.support.json_files import document_text
from stretto.trace.analysis import Collective, Late, Totals, join, late_ranks, slowest, sum_up
from stretto.trace.files import TraceFolder
from stretto.trace.timeline import Timeline, choose_calls, timeline_json, timelines, usual_calls


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary that `stretto trace` prints."""

    folder: TraceFolder
    collectives: list[Collective]
    slowest: list[Collective]
    late: list[Late]
    totals: Totals


def summarize(folder: TraceFolder, top: int) -> Summary:
    """Join the calls of all ranks, and keep the `top` slowest collectives."""
    collectives = join(call for one in folder.traces for call in one.calls)
    totals = sum_up(collectives, (one.rank for one in folder.traces))
    return Summary(folder, collectives, slowest(collectives, top), late_ranks(collectives), totals)


def describe_calls(summary: Summary, names: Sequence[str], ranks: Sequence[int]) -> list[Timeline]:
    """Returns timelines of ranks in the calls of these names, or in the usual calls."""
    traces = summary.folder.traces
    chosen = choose_calls(summary.collectives, names) or usual_calls(summary.collectives, traces)
    return timelines(chosen, traces, ranks)


def summary_json(summary: Summary, merged: Path, events: int, described: Sequence[Timeline] = ()) -> str:
    """Returns the document of the summary, with the merged file, its number of events, and timelines."""
    found, totals = summary.folder, summary.totals
    content = {
        "folder": str(found.path),
        "trace": str(merged),
        "events": events,
        "ranks": found.ranks,
        "missing": found.missing,
        "complaints": found.complaints,
        "clock_error_us": found.clock_error,
        "totals": {
            "collectives": totals.collectives,
            "incomplete": totals.incomplete,
            "overlapping": totals.overlapping,
            "within_clock_errors": totals.within_clock_errors,
            "contradictions": totals.contradictions,
            "waiting_share": totals.waiting_share,
            "by_rank": [
                {"rank": rank, "inside_us": totals.inside[rank], "waiting_us": totals.waiting[rank]}
                for rank in totals.inside
            ],
        },
        "slowest": [_collective_json(one) for one in summary.slowest],
        "late": [_late_json(one) for one in summary.late],
        "timelines": [timeline_json(one) for one in described],
    }
    return document_text("stretto-trace", sys.argv, None, content)


def _late_json(one: Late) -> dict[str, Any]:
    worst = one.worst.last
    return {
        "rank": one.rank,
        "collectives": one.collectives,
        "times": one.times,
        "waited_us": one.waited,
        "waited_alone_us": one.waited_alone,
        "worst": {"communicator": worst.communicator, "sequence": worst.sequence},
    }


def _collective_json(one: Collective) -> dict[str, Any]:
    call = one.last
    return {
        "collective": call.name,
        "sequence": call.sequence,
        "communicator": call.communicator,
        "bytes": call.bytes,
        "spec": call.spec,
        "form": call.form,
        "ranks": call.ranks,
        "traced_ranks": len(one.calls),
        "begin_us": one.begin,
        "total_us": one.total,
        "work_us": one.work,
        "wait_us": one.wait,
        "wait_share": one.wait_share,
        "last_rank": one.late.rank if one.late else None,
        "lateness_us": one.lateness,
    }
