# SPDX-License-Identifier: Apache-2.0
"""`stretto trace`: merges the traces of all ranks and lists slow collectives and late ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.result_options import AsJson, picture_file
from stretto.support.console import announce, print_result
from stretto.support.errors import StrettoError
from stretto.support.files import check_files
from stretto.trace.files import is_rank_file, read_folder, write_merged
from stretto.trace.summary import describe_calls, summarize, summary_json
from stretto.trace.table import print_problems, print_summary, print_timelines
from stretto.trace.timeline_plot import draw_timelines


def trace(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that STRETTO_TRACE named.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The merged file; default DIR/trace.json.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the slowest collectives to list.")] = 10,
    png_file: Annotated[Path | None, picture_file("the copies, messages and reductions of calls")] = None,
    call: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER[:COMMUNICATOR]",
            help="A call to describe and draw, by its sequence number; may be repeated. Default: the last "
            "call of each spec that copied device memory, or the slowest call of Stretto's.",
        ),
    ] = None,
    rank: Annotated[
        list[int] | None,
        typer.Option(min=0, help="A rank whose calls are drawn; may be repeated. Default: one that copied."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Merge the traces of all ranks; list slow collectives and the ranks that others waited for."""
    merged = output or folder / "trace.json"
    if is_rank_file(merged, folder):
        raise StrettoError(f"--output {merged}: a rank's own trace has that name; give another name")
    check_files([merged] if folder.is_dir() else [], [png_file])
    found = read_folder(folder)
    summary = summarize(found, top)
    describes = bool(png_file or call or rank)
    described = describe_calls(summary, call or (), rank or ()) if describes else []
    events = write_merged(found.traces, merged)
    print_problems(found)

    def show() -> None:
        if describes:
            print_timelines(described)
        else:
            print_summary(summary)
        print(
            f"{merged}: {events} events of {len(found.traces)} ranks; "
            "open it in ui.perfetto.dev (it stays on your machine) or chrome://tracing"
        )

    print_result(as_json, lambda: summary_json(summary, merged, events, described), show)
    if png_file:
        draw_timelines(described, png_file)
    announce(png_file, as_json=as_json)
    if found.complaints:
        raise typer.Exit(1)
