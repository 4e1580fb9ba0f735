# SPDX-License-Identifier: Apache-2.0
"""Writes the results of a benchmark, measured or simulated, into files."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

from stretto.plots.runs import plot_run
from stretto.results.runs import FORMAT, Row, Run, to_json, write_csv
from stretto.spec.collectives import LinkBound
from stretto.support.files import check_files, write_all, write_atomically
from stretto.support.json_files import document_text
from stretto.support.machine_load import Load
from stretto.support.units import format_place


@dataclass(frozen=True)
class Outcome:
    """The results of a run."""

    run: Run
    bound: LinkBound | None
    load: Load | None = None
    """The machine's load during the run; None if it was simulated."""
    incomplete: str = ""
    """The reason why results are missing; empty if none are."""
    platform: str = ""
    """The platform of a simulated run."""

    def remarks(self) -> list[str]:
        """What makes the results doubtful: other work on the machine, results that are missing."""
        # That ranks share cores is among the notes, and in a lab it is always so.
        load = self.load.remarks(crowded=False) if self.load else []
        return [*load, self.incomplete] if self.incomplete else load


@dataclass(frozen=True)
class Outputs:
    """The files of --output, --csv and --png."""

    document: Path | None
    csv_file: Path | None
    png_file: Path | None

    def __post_init__(self) -> None:
        check_files([self.document, self.csv_file], [self.png_file])

    def named(self) -> list[Path]:
        """The files that were named."""
        return [file for file in (self.document, self.csv_file, self.png_file) if file]

    def write(self, outcome: Outcome, rows: list[Row], text: str) -> None:
        """Write all files, even if one of them fails; `text` is the document."""
        run, bound, document, file = outcome.run, outcome.bound, self.document, self.png_file
        write_all(
            lambda: write_atomically(document, text) if document else None,
            lambda: self._write_csv(run, rows),
            lambda: plot_run(run, rows, bound, file, outcome.remarks()) if file else None,
        )

    def _write_csv(self, run: Run, rows: list[Row]) -> None:
        if self.csv_file:
            text = io.StringIO(newline="")
            write_csv(run, rows, text)
            write_atomically(self.csv_file, text.getvalue())


def run_text(outcome: Outcome, rows: list[Row]) -> str:
    """The document of a run, samples included."""
    run = outcome.run
    content = to_json(run, rows, outcome.bound, sys.argv)
    if outcome.load:
        content["load"] = outcome.load.to_json()
    if outcome.incomplete:
        content["incomplete"] = outcome.incomplete
    if outcome.platform:
        content["platform"] = outcome.platform
    where = f"{format_place(run.ranks, run.nodes)}, {run.library}"
    return document_text(FORMAT, sys.argv, where, content)
