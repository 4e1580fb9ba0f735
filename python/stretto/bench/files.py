# SPDX-License-Identifier: Apache-2.0
"""Writes the results of a benchmark, measured or simulated, into files."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from stretto.plots.runs import plot_run
from stretto.results.runs import Row, Run, to_json, write_csv
from stretto.spec.collectives import LinkBound
from stretto.support.files import check_files, write_all, write_atomically
from stretto.support.machine_load import Load


@dataclass(frozen=True)
class Outcome:
    """The results of a run."""

    run: Run
    bound: LinkBound | None
    load: Load | None = None
    """The machine's load during the run; None if it was simulated."""
    incomplete: str = ""
    """Why results are missing."""


@dataclass(frozen=True)
class Outputs:
    """The files of --json, --csv and --png."""

    json_file: Path | None
    csv_file: Path | None
    png_file: Path | None

    def __post_init__(self) -> None:
        check_files([self.json_file, self.csv_file], [self.png_file])

    def named(self) -> list[Path]:
        """The files that were named."""
        return [file for file in (self.json_file, self.csv_file, self.png_file) if file]

    def write(self, outcome: Outcome, rows: list[Row]) -> None:
        """Write all files, even if one of them fails."""
        run, bound, file = outcome.run, outcome.bound, self.png_file
        write_all(
            lambda: self._write_json(outcome, rows),
            lambda: self._write_csv(run, rows),
            lambda: plot_run(run, rows, bound, file) if file else None,
        )

    def _write_json(self, outcome: Outcome, rows: list[Row]) -> None:
        if self.json_file:
            content = to_json(outcome.run, rows, outcome.bound, sys.argv)
            if outcome.load:
                content["load"] = outcome.load.to_json()
            if outcome.incomplete:
                content["incomplete"] = outcome.incomplete
            write_atomically(self.json_file, json.dumps(content, indent=1) + "\n")

    def _write_csv(self, run: Run, rows: list[Row]) -> None:
        if self.csv_file:
            text = io.StringIO(newline="")
            write_csv(run, rows, text)
            write_atomically(self.csv_file, text.getvalue())
