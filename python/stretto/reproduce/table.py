# SPDX-License-Identifier: Apache-2.0
"""What `stretto reproduce` prints: the claims of figures, with what came out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict

from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.reproduce.figure import Made, Verdict
from stretto.support.console import console_for
from stretto.support.json_files import document_text

_STYLES = {Verdict.AGREES: "green", Verdict.PARTLY: "yellow", Verdict.DIFFERS: "red"}


def print_claims(figures: Iterable[Made]) -> None:
    """Print a table for each figure, as soon as it is made."""
    for one in figures:
        _print_claims(one)


def claims_json(figures: Iterable[Made]) -> str:
    """The document of the claims of all figures."""
    rows = [
        {
            "figure": one.figure.name,
            "title": one.figure.title,
            "picture": str(one.file),
            "remark": one.result.remark,
            "seconds": one.seconds,
            "claims": [asdict(claim) for claim in one.result.claims],
        }
        for one in figures
    ]
    return document_text("stretto-reproduction", sys.argv, None, {"figures": rows})


def _print_claims(made: Made) -> None:
    """Print a row for each claim, and where the picture is."""
    figure = made.figure
    table = Table(
        box=SIMPLE_HEAD, header_style="bold", pad_edge=False, title=f"{figure.name}: {figure.title}",
        title_justify="left",
    )  # fmt: skip
    for column in ("the paper reports", "came out", "", "why"):
        table.add_column(column, overflow="fold")
    for claim in made.result.claims:
        verdict = f"[{_STYLES[claim.verdict]}]{claim.verdict.value}[/]"
        table.add_row(claim.reported, claim.came_out, verdict, claim.why)
    console = console_for(table)
    console.print(table)
    console.print(f"{made.file}, {made.seconds:.0f} s", style="dim", highlight=False, soft_wrap=True)
