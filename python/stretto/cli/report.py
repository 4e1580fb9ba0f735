# SPDX-License-Identifier: Apache-2.0
"""`stretto report`: one HTML page with all that was measured, chosen and predicted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto.report.contents import page_sections, page_text
from stretto.report.inputs import read_inputs
from stretto.report.page import write_charts
from stretto.support.console import announce
from stretto.support.files import check_files, make_folder, write_atomically


def report(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Files that Stretto wrote, recognized by their content: a study or its folder, a "
            "benchmark's JSON, a table, a machine, statistics of a run, a profile, a trace's JSON or its "
            "folder."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    charts: Annotated[
        Path | None,
        typer.Option("--charts", metavar="FOLDER", help="Write the charts as PNG files into this folder."),
    ] = None,
) -> None:
    """Make one self-contained HTML page: throughput, gains, choices, predictions against measurements."""
    check_files([output])
    if charts is not None:
        make_folder(charts, "--charts")
    found = read_inputs(inputs)
    for line in found.left_out:
        print(f"stretto: {line}: left out", file=sys.stderr)
    page = page_text(found)
    write_atomically(output, page)
    announce(output)
    print(f"{len(page.encode()) / 1e3:.0f} kB: open it in a browser; it needs no network")
    if charts is not None:
        announce(*write_charts(page_sections(found), charts))
