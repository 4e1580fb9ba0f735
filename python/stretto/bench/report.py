# SPDX-License-Identifier: Apache-2.0
"""Prints the results of a benchmark, measured or simulated, and writes its files."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.bench.files import Outcome, Outputs
from stretto.bench.table import notes, results_table
from stretto.results.runs import summarize
from stretto.support.console import console_for
from stretto.support.errors import WrongResultError
from stretto.support.units import format_bytes


def report(outcome: Outcome, *, emulated: bool, outputs: Outputs) -> None:
    """Print the table, notes and remarks of a measured run, and write the files.

    Raises WrongResultError if a result was wrong.
    """
    incomplete = [outcome.incomplete] if outcome.incomplete else []
    busy = outcome.load.remarks(crowded=False) if outcome.load else []
    print_results(outcome, notes(outcome.run, outcome.bound, emulated), [*busy, *incomplete], outputs)
    wrong = [
        f"{series.label} at {format_bytes(series.bytes)}{' in place' if series.in_place else ''}"
        for series in outcome.run.series
        if not series.correct
    ]
    if wrong:
        raise WrongResultError(f"WRONG RESULTS of {', '.join(wrong)}")


def print_results(outcome: Outcome, lines: Sequence[str], remarks: Sequence[str], outputs: Outputs) -> None:
    """Print the table, the lines and the remarks below it, and write the files."""
    rows = summarize(outcome.run, outcome.bound)
    table = results_table(rows)
    console = console_for(table)
    console.print(table)
    for line in lines:
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
    for line in remarks:
        console.print(f"! {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    outputs.write(outcome, rows)
    if outcome.incomplete:
        for file in outputs.named():
            console.print(f"written to {file}", style="dim", markup=False, highlight=False, soft_wrap=True)
