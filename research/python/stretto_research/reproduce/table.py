# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto reproduce`: the claims about figures, with the results."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict

from rich.text import Text

from stretto.support.console import print_lines
from stretto.support.json_files import document_text
from stretto.support.tables import Column, ResultTable
from stretto_research.reproduce.figure import Claim, Made, Verdict

_STYLES = {Verdict.AGREES: "green", Verdict.PARTLY: "yellow", Verdict.DIFFERS: "red"}


def print_claims(figures: Iterable[Made]) -> None:
    """Print a table for each figure, as soon as it is made."""
    for one in figures:
        _print_claims(one)


def claims_json(figures: Iterable[Made]) -> str:
    """Return the document with the claims about all figures."""
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
    """Print a row for each claim, and the place of the picture."""
    figure = made.figure
    ResultTable(
        [
            Column("the paper reports", lambda claim: claim.reported, left=True, wraps=True, is_key=True),
            Column("came out", lambda claim: claim.came_out, left=True, wraps=True, is_key=True),
            Column("", _verdict, left=True, is_key=True),
            Column("why", lambda claim: claim.why, left=True, wraps=True, is_key=True),
        ],
        made.result.claims,
        title=f"{figure.name}: {figure.title}",
    ).print()
    print_lines([f"written to {made.file}, {made.seconds:.0f} s"])


def _verdict(claim: Claim) -> Text:
    return Text(claim.verdict.value, _STYLES[claim.verdict])
