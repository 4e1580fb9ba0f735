# SPDX-License-Identifier: Apache-2.0
"""`stretto reproduce`: the papers' figures, simulated or modelled, and a verdict on each of their claims."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.result_options import AsJson
from stretto.support.console import print_result
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, make_folder, write_atomically
from stretto_research.reproduce.catalog import FIGURES, find_figures
from stretto_research.reproduce.figure import Made
from stretto_research.reproduce.page import page_text
from stretto_research.reproduce.run import make_figures
from stretto_research.reproduce.table import claims_json, print_claims


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FIGURE...",
            help="fig4 (of each paper that has one), pipelined/fig4, or pipelined, training, node-aware.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All figures.")] = False,
    subset: Annotated[bool, typer.Option("--ci", help="The short subset for CI, as with --quick.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer sizes and ranks.")] = False,
    folder: Annotated[Path, typer.Option("-o", "--output", help="The folder for the pictures.")] = Path(
        "results/reproduction"
    ),
    page: Annotated[
        Path | None,
        typer.Option(help="Write the claims and verdicts as Markdown, as in research/docs/reproduction.md."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce the papers' figures: stretto reproduce pipelined/fig4, or --all."""
    if everything or subset:
        figures = [one for one in FIGURES if everything or one.in_ci]
    elif names:
        figures = find_figures(names)
    else:
        raise StrettoError("name a figure, such as pipelined/fig4, or give --all (stretto reproduce --help)")
    check_files([page])
    make_folder(folder)
    made: list[Made] = []

    def make() -> Iterator[Made]:
        for one in make_figures(figures, folder, quick=quick or subset):
            made.append(one)
            yield one

    print_result(as_json, lambda: claims_json(make()), lambda: print_claims(make()))
    if page:
        write_atomically(page, page_text([(one.figure, one.result) for one in made]))
