# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto top`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from stretto.cli.result_options import AsJson
from stretto.support.console import print_result
from stretto.support.units import parse_seconds
from stretto.top.reader import Reader
from stretto.top.view import jobs_json, look_once, show_jobs, watch


def top(
    pid: Annotated[
        int | None,
        typer.Option(
            min=1, help="Only the job of this process: one of its ranks, or their launcher (mpirun)."
        ),
    ] = None,
    interval: Annotated[str, typer.Option(metavar="TIME", help="The time between two updates.")] = "1s",
    once: Annotated[
        bool,
        typer.Option("--once", help="Show one interval and end, the default outside a terminal."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the ranks of this node do: calls, time inside collectives, and who waits for whom.

    It shows your own running jobs, which need no setting. Ctrl-C ends the view, not a job.
    """
    seconds = parse_seconds(interval)
    reader = Reader(pid)
    if not (once or as_json) and sys.stdout.isatty():
        watch(reader, seconds)
        return
    jobs = look_once(reader, seconds)
    print_result(as_json, lambda: jobs_json(jobs, seconds, sys.argv), lambda: show_jobs(jobs))
