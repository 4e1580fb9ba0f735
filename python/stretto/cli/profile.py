# SPDX-License-Identifier: Apache-2.0
"""`stretto profile`: runs a program and says which collectives it called, how often and for how long."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.completion import complete_mpi, complete_spec
from stretto.cli.program import ProgramCommand, program_of
from stretto.cli.result_options import AsJson, ResultFile, picture_file
from stretto.support.console import announce, print_result
from stretto.support.extras import require
from stretto.support.files import check_files, write_all, write_atomically
from stretto.trace.files import TraceFolder
from stretto.trace.profile_file import Profile, profile_text
from stretto.trace.profile_plot import draw_profile
from stretto.trace.profile_run import run_profiled
from stretto.trace.profile_summary import make_profile
from stretto.trace.profile_table import print_profile
from stretto.trace.summary_file import summary_of_traces
from stretto.trace.table import print_problems

COMMAND_CLASS = ProgramCommand
_STANDARD_ERROR = 2


def _page(name: str, its: Profile, traces: TraceFolder) -> str:
    # What a report needs may be missing, and takes its time to load.
    from stretto.report.contents import page_text  # noqa: PLC0415
    from stretto.report.inputs import Inputs  # noqa: PLC0415

    return page_text(Inputs(profiles=[(name, its)], traces=[(name, summary_of_traces(traces))], files=[name]))


def profile(
    context: typer.Context,
    output: ResultFile = None,
    html_file: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write a page for a browser: the calls, the slowest collectives, who was late.",
        ),
    ] = None,
    png_file: Annotated[Path | None, picture_file("the histograms")] = None,
    spec: Annotated[
        list[str] | None,
        typer.Option(
            help="The spec of allreduce, or of another collective, as in stretto run.",
            autocompletion=complete_spec,
        ),
    ] = None,
    as_json: AsJson = False,
    mpi_name: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            metavar="NAME",
            help="The MPI of the ranks, as in stretto run.",
            autocompletion=complete_mpi,
        ),
    ] = None,
) -> None:
    """Run an MPI program and profile its collectives: stretto profile -- mpirun -np 8 ./program.

    For a Horovod training it also finds when each gradient is ready, from Horovod's timeline.
    """
    if html_file:
        require(f"--html {html_file}", "jinja2", "matplotlib")
    check_files([output, html_file], [png_file])
    # The document stands alone on standard output: the program's goes to standard error.
    run = run_profiled(program_of(context), spec or (), mpi_name, _STANDARD_ERROR if as_json else None)
    print_problems(run.folder)
    its = make_profile(run.folder, run.training)
    text = profile_text(its, sys.argv)
    print_result(as_json, lambda: text, lambda: print_profile(its))

    def draw() -> None:
        if png_file:
            draw_profile(its, png_file)

    def write_page() -> None:
        if html_file:
            write_atomically(html_file, _page(html_file.stem, its, run.folder))

    write_all(lambda: write_atomically(output, text) if output else None, write_page, draw)
    announce(output, html_file, png_file, as_json=as_json)
    if run.status:
        raise typer.Exit(run.status)
