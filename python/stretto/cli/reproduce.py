# SPDX-License-Identifier: Apache-2.0
"""`stretto reproduce`: the papers' figures, simulated or modelled, and what became of what they report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.bench.options import progress_bar
from stretto.plots.drawing import draw_panels
from stretto.reproduce.catalog import FIGURES, find_figures
from stretto.reproduce.figure import Bench, Claim, Figure, Result, Verdict
from stretto.reproduce.page import page_text
from stretto.support.console import console_for
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, make_folder, write_atomically

_STYLES = {Verdict.AGREES: "green", Verdict.PARTLY: "yellow", Verdict.DIFFERS: "red"}


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FIGURE...",
            help="fig4 (of each paper that has one), pipelined/fig4, or pipelined, training, node-aware.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All figures.")] = False,
    subset: Annotated[bool, typer.Option("--ci", help="The short subset that CI makes, quickly.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer sizes and ranks.")] = False,
    folder: Annotated[Path, typer.Option("-o", "--output", help="A folder for the pictures.")] = Path(
        "results/reproduction"
    ),
    page: Annotated[
        Path | None, typer.Option(help="Write what came out as Markdown, as docs/reproduction.md is.")
    ] = None,
) -> None:
    """Reproduce the papers' figures: stretto reproduce pipelined/fig4, or --all."""
    if everything or subset:
        figures = [one for one in FIGURES if everything or one.in_ci]
    elif names:
        figures = find_figures(names)
    else:
        raise StrettoError("say which figure, as pipelined/fig4, or --all (stretto reproduce --help)")
    check_files([page])
    make_folder(folder)
    results: list[tuple[Figure, Result]] = []
    for figure in figures:
        begin = time.monotonic()
        with progress_bar(figure.name) as progress:
            bench = Bench(quick=quick or subset, progress=progress)
            result = figure.make(bench)
        file = folder / f"{figure.paper}-{figure.number}.png"
        draw_panels(figure.heading, result.panels, file, columns=result.columns)
        results.append((figure, result))
        _print(figure, result.claims, file, time.monotonic() - begin)
    if page:
        write_atomically(page, page_text(results))


def _print(figure: Figure, claims: Sequence[Claim], file: Path, seconds: float) -> None:
    table = Table(
        box=SIMPLE_HEAD, header_style="bold", pad_edge=False, title=f"{figure.name}: {figure.title}",
        title_justify="left",
    )  # fmt: skip
    for column in ("the paper reports", "came out", "", "why"):
        table.add_column(column, overflow="fold")
    for claim in claims:
        table.add_row(
            claim.reported, claim.came_out, f"[{_STYLES[claim.verdict]}]{claim.verdict.value}[/]", claim.why
        )
    console = console_for(table)
    console.print(table)
    console.print(f"{file}, {seconds:.0f} s", style="dim", highlight=False, soft_wrap=True)
