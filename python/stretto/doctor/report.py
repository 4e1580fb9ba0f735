# SPDX-License-Identifier: Apache-2.0
"""What `stretto doctor` prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata

from rich.text import Text

from stretto.doctor.checks import (
    Finding,
    Verdict,
    check_command,
    check_frameworks,
    check_installs,
    check_lab,
    check_mpi4py,
    check_simgrid,
    check_tables,
    check_tools,
    check_variables,
)
from stretto.doctor.choices import list_choices, list_fabrics
from stretto.doctor.cluster import Cluster, Difference, examine_cluster, starts_ranks
from stretto.doctor.node import check_node
from stretto.doctor.program import examine_program
from stretto.launch import mpi
from stretto.launch.mpi import Flavor
from stretto.launch.run import find_rank_programs
from stretto.support.console import print_lines
from stretto.support.json_files import document_text
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_nodes

_STYLES = {Verdict.GOOD: "green", Verdict.ABSENT: "dim", Verdict.BAD: "bold red"}


@dataclass(frozen=True, slots=True)
class Report:
    """What `stretto doctor` found."""

    findings: list[Finding]
    served: list[Flavor]
    """The MPIs under which programs can be run; none if something is wrong."""
    choice: list[Finding]
    network: list[Finding]


def _examine(environment: Mapping[str, str]) -> tuple[list[Finding], list[Flavor]]:
    """All findings, and the MPIs under which programs can be run: none if something is wrong."""
    installs = mpi.installs()
    findings = [
        *check_node(None, environment),
        *check_installs(installs),
        check_command(),
        *check_mpi4py(installs),
        *check_frameworks(),
        check_tools(),
        check_lab(),
        check_simgrid(),
        *check_variables(environment),
        *check_tables(),
    ]
    served = [one.flavor for one in installs]
    if not served:
        findings.append(Finding(Verdict.BAD, "stretto run", "no MPI library was found"))
    return findings, [] if any(finding.is_bad for finding in findings) else served


@dataclass(frozen=True, slots=True)
class JobReport:
    """What `stretto doctor -- LAUNCHER PROGRAM` found."""

    findings: list[Finding]
    """Of the programs, on this node."""
    cluster: Cluster | None
    """None: no launcher was given."""

    @property
    def is_bad(self) -> bool:
        """Whether something must be done."""
        return any(one.is_bad for one in self.findings) or (self.cluster is not None and self.cluster.is_bad)


def examine_job(arguments: Sequence[str], environment: Mapping[str, str]) -> JobReport:
    """Examine the programs of a command line and, if it begins with a launcher, the nodes that it reaches."""
    if not starts_ranks(arguments, environment):
        return JobReport(examine_program(arguments, environment), None)
    has_program = bool(find_rank_programs(arguments, environment))
    findings = examine_program(arguments, environment) if has_program else []
    return JobReport(findings, examine_cluster(arguments, environment))


def examine_all() -> Report:
    """Examine the installation, and what decides about calls."""
    findings, served = _examine(os.environ)
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


def print_job(job: JobReport) -> None:
    """Print what was found of programs, and on the nodes that run them."""
    if job.findings:
        _table(job.findings, "what", "finding").print()
    if job.cluster is None:
        return
    reports, differences = job.cluster.reports, job.cluster.differences
    names = [one.node for one in reports]
    if len(reports) == 1 and not reports[0].failed:
        _table(reports[0].findings, names[0], "finding").print()
        return
    if not differences:
        print_lines([f"all {len(names)} nodes are alike: {', '.join(names)}"], style="")
        return
    ResultTable(
        [
            Column("", lambda one: Text(one.verdict.value, _STYLES[one.verdict]), left=True, is_key=True),
            Column("what", lambda one: one.what, left=True, is_key=True),
            Column("nodes", _nodes_text, left=True, wraps=True, is_key=True),
            Column("finding", lambda one: one.detail, left=True, wraps=True, is_key=True),
        ],
        differences,
        section=lambda one: one.what,
    ).print()
    print_lines([f"{format_nodes(len(names))} have reported; in all else they are alike"])


def _nodes_text(difference: Difference) -> str:
    if difference.is_rest and len(difference.nodes) > 1:
        return f"the other {len(difference.nodes)}"
    return ", ".join(difference.nodes)


def job_json(job: JobReport) -> str:
    """The document of the same (docs/formats.md)."""
    cluster = job.cluster
    content = {
        "findings": _rows(job.findings),
        "nodes": cluster
        and [
            {"node": one.node, "error": one.failed or None, "findings": _rows(one.findings)}
            for one in cluster.reports
        ],
        "differences": cluster
        and [
            {
                "verdict": one.verdict.name.lower(),
                "what": one.what,
                "detail": one.detail,
                "nodes": one.nodes,
            }
            for one in cluster.differences
        ],
    }
    return document_text("stretto-doctor-program", sys.argv, None, content)


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
