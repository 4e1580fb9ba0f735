# SPDX-License-Identifier: Apache-2.0
"""What `stretto doctor` prints."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stretto.doctor.checks import Verdict, examine
from stretto.launch.mpi import Flavor

_STYLES = {Verdict.GOOD: "green", Verdict.ABSENT: "dim", Verdict.BAD: "bold red"}


def print_report() -> bool:
    """Examine the installation and print the findings. True if programs can be run with Stretto."""
    findings, served = examine(os.environ)
    table = Table(box=None, pad_edge=False)
    for title in ("", "what", "finding"):
        table.add_column(title, overflow="fold")
    for finding in findings:
        style = _STYLES[finding.verdict]
        table.add_row(Text(finding.verdict.value, style), Text(finding.what), Text(finding.detail))
    # In a file or a pipe, lines are not wrapped.
    console = Console() if sys.stdout.isatty() else Console(width=shutil.get_terminal_size((240, 24)).columns)
    console.print(table)
    console.print(_conclusion(served), soft_wrap=True)
    return bool(served)


def _conclusion(served: Sequence[Flavor]) -> str:
    if not served:
        return "Stretto is not ready: see what is wrong above"
    ready = f"Stretto is ready for {', '.join(flavor.label for flavor in served)}: stretto run -- mpirun ..."
    missing = [flavor.label for flavor in Flavor if flavor not in served]
    if not missing:
        return ready
    how = "where one is installed elsewhere, name its folder: STRETTO_MPI_PREFIXES=FOLDER"
    return f"{ready}\nNot for {', '.join(missing)}: see above; {how}"
