# SPDX-License-Identifier: Apache-2.0
"""Prints the claims of a figure, with what came out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.reproduce.figure import Claim, Figure, Verdict
from stretto.support.console import console_for

_STYLES = {Verdict.AGREES: "green", Verdict.PARTLY: "yellow", Verdict.DIFFERS: "red"}


def print_claims(figure: Figure, claims: Sequence[Claim], file: Path, seconds: float) -> None:
    """Print a row for each claim, and where the picture is."""
    table = Table(
        box=SIMPLE_HEAD, header_style="bold", pad_edge=False, title=f"{figure.name}: {figure.title}",
        title_justify="left",
    )  # fmt: skip
    for column in ("the paper reports", "came out", "", "why"):
        table.add_column(column, overflow="fold")
    for claim in claims:
        verdict = f"[{_STYLES[claim.verdict]}]{claim.verdict.value}[/]"
        table.add_row(claim.reported, claim.came_out, verdict, claim.why)
    console = console_for(table)
    console.print(table)
    console.print(f"{file}, {seconds:.0f} s", style="dim", highlight=False, soft_wrap=True)
