# SPDX-License-Identifier: Apache-2.0
"""Prints the results of a measured run, and writes its files."""

from __future__ import annotations

from stretto.bench.files import Outcome, Outputs, run_text
from stretto.bench.table import average_lines, notes, results_table
from stretto.results.runs import summarize
from stretto.support.console import announce, print_lines, print_result
from stretto.support.errors import WrongResultError
from stretto.support.units import format_bytes


def report(outcome: Outcome, *, emulated: bool, outputs: Outputs, as_json: bool) -> None:
    """Print the table, notes and remarks, or the document, and write the files.

    Raises WrongResultError if a result was wrong.
    """
    run = outcome.run
    rows = summarize(run, outcome.bound)

    def show() -> None:
        results_table(rows).print()
        print_lines(notes(run, outcome.bound, emulated))
        print_lines(average_lines(rows), style="")
        print_lines((f"! {remark}" for remark in outcome.remarks()), style="yellow")

    text = run_text(outcome, rows)
    print_result(as_json, lambda: text, show)
    outputs.write(outcome, rows, text)
    announce(*outputs.named(), as_json=as_json)
    wrong = [
        f"{series.label} at {format_bytes(series.bytes)}{' in place' if series.in_place else ''}"
        for series in run.series
        if not series.correct
    ]
    if wrong:
        raise WrongResultError(f"WRONG RESULTS of {', '.join(wrong)}")
