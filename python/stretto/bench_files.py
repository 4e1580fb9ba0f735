# SPDX-License-Identifier: Apache-2.0
"""The files that a benchmark's results go to, measured or simulated."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from stretto import plots
from stretto.bench_collectives import LinkBound
from stretto.files import check_files, write_all, write_atomically
from stretto.results import Row, Run, to_json, write_csv


@dataclass(frozen=True)
class Outputs:
    """What --json, --csv and --png name."""

    json_file: Path | None
    csv_file: Path | None
    png_file: Path | None

    def __post_init__(self) -> None:
        check_files([self.json_file, self.csv_file], [self.png_file])

    def named(self) -> list[Path]:
        """All files."""
        return [file for file in (self.json_file, self.csv_file, self.png_file) if file]

    def write(self, run: Run, rows: list[Row], bound: LinkBound | None, incomplete: str = "") -> None:
        """Write each of them, though another cannot be written. `incomplete`: why results are missing."""
        write_all(
            lambda: self._write_json(run, rows, bound, incomplete),
            lambda: self._write_csv(run, rows),
            lambda: plots.plot_run(run, rows, bound, self.png_file) if self.png_file else None,
        )

    def _write_json(self, run: Run, rows: list[Row], bound: LinkBound | None, incomplete: str) -> None:
        if self.json_file:
            content = to_json(run, rows, bound, sys.argv) | ({"incomplete": incomplete} if incomplete else {})
            write_atomically(self.json_file, json.dumps(content, indent=1) + "\n")

    def _write_csv(self, run: Run, rows: list[Row]) -> None:
        if self.csv_file:
            text = io.StringIO(newline="")
            write_csv(run, rows, text)
            write_atomically(self.csv_file, text.getvalue())
