# SPDX-License-Identifier: Apache-2.0
"""What `stretto doctor` prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata

from rich.text import Text

from stretto.doctor.checks import Finding, Verdict, examine
from stretto.doctor.choices import list_choices, list_fabrics
from stretto.launch.mpi import Flavor
from stretto.support.console import print_lines
from stretto.support.json_files import document_text
from stretto.support.tables import Column, ResultTable

_STYLES = {Verdict.GOOD: "green", Verdict.ABSENT: "dim", Verdict.BAD: "bold red"}


@dataclass(frozen=True, slots=True)
class Report:
    """What `stretto doctor` found."""

    findings: list[Finding]
    served: list[Flavor]
    """The MPIs under which programs can be run; none if something is wrong."""
    choice: list[Finding]
    network: list[Finding]


def examine_all() -> Report:
    """Examine the installation, and what decides about calls."""
    findings, served = examine(os.environ)
    return Report(findings, served, list(list_choices(os.environ)), list(list_fabrics(os.environ)))


def print_report(report: Report) -> None:
    """Print the findings as tables."""
    by = "what decides which spec a call takes: the first of these that applies"
    _table(report.findings, "what", "finding").print()
    _table(report.choice, "choice", by).print()
    _table(report.network, "network", "what jobs have found out about it").print()
    print_lines([_conclusion(report.served)], style="")


def report_json(report: Report) -> str:
    """The document of the same (docs/formats.md)."""
    content = {
        "stretto": metadata.version("stretto"),
        "ready_for": [flavor.value for flavor in report.served],
        "findings": _rows(report.findings),
        "choice": _rows(report.choice),
        "network": _rows(report.network),
    }
    return document_text("stretto-doctor", sys.argv, None, content)


def print_findings(findings: Sequence[Finding]) -> None:
    """Print what was found of a program."""
    _table(findings, "what", "finding").print()


def findings_json(findings: Sequence[Finding]) -> str:
    """The document of the same (docs/formats.md)."""
    return document_text("stretto-doctor-program", sys.argv, None, {"findings": _rows(findings)})


def _rows(findings: Iterable[Finding]) -> list[dict[str, str]]:
    return [{"verdict": one.verdict.name.lower(), "what": one.what, "detail": one.detail} for one in findings]


def _table(findings: Sequence[Finding], what: str, meaning: str) -> ResultTable[Finding]:
    return ResultTable(
        [
            Column("", lambda one: Text(one.verdict.value, _STYLES[one.verdict]), left=True, is_key=True),
            Column(what, lambda one: one.what, left=True, is_key=True),
            Column(meaning, lambda one: one.detail, left=True, wraps=True, is_key=True),
        ],
        findings,
    )


def _conclusion(served: Sequence[Flavor]) -> str:
    if not served:
        return "Stretto is not ready: see what is wrong above"
    ready = f"Stretto is ready for {', '.join(flavor.label for flavor in served)}: stretto run -- mpirun ..."
    missing = [flavor.label for flavor in Flavor if flavor not in served]
    if not missing:
        return ready
    how = "where one is installed elsewhere, name its folder: STRETTO_MPI_PREFIXES=FOLDER"
    return f"{ready}\nNot for {', '.join(missing)}: see above; {how}"
