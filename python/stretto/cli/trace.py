# SPDX-License-Identifier: Apache-2.0
"""`stretto trace`: merge what the ranks traced, and say what was slow and who came late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.support.console import console_for
from stretto.support.errors import StrettoError
from stretto.support.files import check_files
from stretto.trace.analysis import Collective, Late, Totals, join, late_ranks, slowest, sum_up
from stretto.trace.files import TraceFolder, is_rank_file, read_folder, write_merged
from stretto.trace.table import late_table, missing_text, notes, slowest_table, totals_line


def trace(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that STRETTO_TRACE named.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The merged file; DIR/trace.json unless given.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the slowest collectives to list.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")] = False,
) -> None:
    """Merge the traces of all ranks; list slow collectives and the ranks that others waited for."""
    merged = output or folder / "trace.json"
    if is_rank_file(merged, folder):
        raise StrettoError(f"--output {merged}: a rank's own trace has that name; give another")
    check_files([merged] if folder.is_dir() else [])
    found = read_folder(folder)
    collectives = join(call for one in found.traces for call in one.calls)
    late = late_ranks(collectives)
    totals = sum_up(collectives, (one.rank for one in found.traces))
    events = write_merged(found.traces, merged)
    for line in [*found.complaints, *([missing_text(found.missing)] if found.missing else [])]:
        typer.echo(f"stretto: {line}", err=True)
    worst = slowest(collectives, top)
    if as_json:
        print(json.dumps(_to_json(found, merged, events, worst, late, totals), indent=1))
    else:
        _print(found, worst, late, totals)
        print(
            f"{merged}: {events} events of {len(found.traces)} ranks; "
            "open it in ui.perfetto.dev (it stays on your machine) or chrome://tracing"
        )
    if found.complaints:
        raise typer.Exit(1)


def _print(found: TraceFolder, worst: list[Collective], late: list[Late], totals: Totals) -> None:
    tables = [slowest_table(worst)] if worst else []
    if late:
        tables.append(late_table(late, {one.rank: one.node for one in found.traces}))
    console = console_for(*tables)
    for table in tables:
        console.print(table)
    console.print(totals_line(totals), markup=False, highlight=False, soft_wrap=True)
    for line in notes(found, totals, late) if worst else []:
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _to_json(
    found: TraceFolder, merged: Path, events: int, worst: list[Collective], late: list[Late], totals: Totals
) -> dict[str, Any]:
    return {
        "folder": str(found.path),
        "trace": str(merged),
        "events": events,
        "ranks": found.ranks,
        "missing": found.missing,
        "complaints": found.complaints,
        "clock_error_us": max(one.clock_error for one in found.traces),
        "totals": {
            "collectives": totals.collectives,
            "incomplete": totals.incomplete,
            "overlapping": totals.overlapping,
            "contradictions": totals.contradictions,
            "waiting_share": totals.waiting_share,
            "by_rank": [
                {"rank": rank, "inside_us": totals.inside[rank], "waiting_us": totals.waiting[rank]}
                for rank in totals.inside
            ],
        },
        "slowest": [_collective_json(one) for one in worst],
        "late": [
            {
                "rank": one.rank,
                "collectives": one.collectives,
                "times": one.times,
                "waited_us": one.waited,
                "waited_alone_us": one.waited_alone,
                "worst": {"communicator": one.worst.last.communicator, "sequence": one.worst.last.sequence},
            }
            for one in late
        ],
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
        "last_rank": call.rank,
        "lateness_us": one.lateness,
    }
