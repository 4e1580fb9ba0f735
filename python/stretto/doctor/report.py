# SPDX-License-Identifier: Apache-2.0
"""What `stretto doctor` prints."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stretto.doctor.checks import Finding, Verdict, examine
from stretto.doctor.choices import list_choices, list_fabrics
from stretto.launch.mpi import Flavor

_STYLES = {Verdict.GOOD: "green", Verdict.ABSENT: "dim", Verdict.BAD: "bold red"}
_MEANINGS = {
    "choice": "what decides which spec a call takes: the first of these that applies",
    "network": "what jobs have found out about it",
}


def print_report() -> bool:
    """Examine the installation and print the findings. True if programs can be run with Stretto."""
    findings, served = examine(os.environ)
    # In a file or a pipe, lines are not wrapped.
    console = Console() if sys.stdout.isatty() else Console(width=shutil.get_terminal_size((240, 24)).columns)
    console.print(_table(findings, "what", "finding"))
    for title, more in (("choice", list_choices(os.environ)), ("network", list_fabrics(os.environ))):
        console.print()
        console.print(_table(more, title, _MEANINGS[title]))
    console.print()
    console.print(_conclusion(served), soft_wrap=True)
    return bool(served)


def print_json() -> bool:
    """Print the same as JSON (docs/formats.md)."""
    findings, served = examine(os.environ)
    parts = {"findings": findings, "choice": list_choices(os.environ), "network": list_fabrics(os.environ)}
    report: dict[str, object] = {"format": "stretto-doctor", "version": metadata.version("stretto")}
    report["ready_for"] = [flavor.value for flavor in served]
    for name, of_part in parts.items():
        report[name] = [
            {"verdict": finding.verdict.name.lower(), "what": finding.what, "detail": finding.detail}
            for finding in of_part
        ]
    print(json.dumps(report, indent=1, ensure_ascii=False))
    return bool(served)


def _table(findings: Iterable[Finding], what: str, meaning: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("", what, meaning):
        table.add_column(title, overflow="fold")
    for finding in findings:
        style = _STYLES[finding.verdict]
        table.add_row(Text(finding.verdict.value, style), Text(finding.what), Text(finding.detail))
    return table


def _conclusion(served: Sequence[Flavor]) -> str:
    if not served:
        return "Stretto is not ready: see what is wrong above"
    ready = f"Stretto is ready for {', '.join(flavor.label for flavor in served)}: stretto run -- mpirun ..."
    missing = [flavor.label for flavor in Flavor if flavor not in served]
    if not missing:
        return ready
    how = "where one is installed elsewhere, name its folder: STRETTO_MPI_PREFIXES=FOLDER"
    return f"{ready}\nNot for {', '.join(missing)}: see above; {how}"
