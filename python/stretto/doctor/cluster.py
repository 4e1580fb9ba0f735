# SPDX-License-Identifier: Apache-2.0
"""The checks of all nodes of a cluster, through the user's own launcher, and what differs between nodes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.doctor.checks import Verdict
from stretto.doctor.node import MARK, Expected, NodeReport, command, read_report
from stretto.launch import jobs, mpi
from stretto.launch.command_lines import replace_programs
from stretto.launch.output import ProgramOutput
from stretto.launch.run import Start, check_root, find_rank_programs, find_start, stretto_variables
from stretto.support import paths
from stretto.support.errors import StrettoError

_LACKS = "stretto-lacks "
"""What precedes the name of a node that cannot make the checks, and the reason."""
# One rank of each node is enough: launchers number the ranks of a node. What a node lacks is said by a shell,
# which every node has.
_SCRIPT = f"""\
rank=${{OMPI_COMM_WORLD_LOCAL_RANK:-${{MPI_LOCALRANKID:-${{PMI_LOCAL_RANK:-${{SLURM_LOCALID:-0}}}}}}}}
[ "$rank" = 0 ] || exit 0
if said=$("$@" 2>&1); then printf '%s\\n' "$said"
else printf '{_LACKS}%s %s\\n' "$(uname -n)" "$(printf '%s\\n' "$said" | tail -n 1)"; fi"""
# Launchers are slow on large clusters, and so is Python on a busy file system.
_MOST_SILENCE = 300.0

# Findings that must be equal on all nodes: ranks with different ones do not work together.
_MUST_AGREE = ("stretto._core", "libstretto.so", "MPI library")


@dataclass(frozen=True)
class Difference:
    """What some nodes have, and others do not; or what is wrong on all nodes."""

    verdict: Verdict
    what: str
    detail: str
    nodes: list[str]
    is_rest: bool
    """Whether these are more nodes than have any other detail."""


@dataclass(frozen=True)
class Cluster:
    """What was found on the nodes that a launcher reaches."""

    reports: list[NodeReport]
    differences: list[Difference]

    @property
    def is_bad(self) -> bool:
        """Whether something must be done."""
        return any(one.verdict is Verdict.BAD for one in self.differences)


def starts_ranks(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a command line begins with a launcher, which reaches nodes."""
    start = find_start(arguments, environment)
    return start.launcher is not None or Path(start.program).name == "srun"


def examine_cluster(arguments: Sequence[str], environment: Mapping[str, str]) -> Cluster:
    """Start a check on each node by the user's launcher, and compare what nodes report."""
    check_root(arguments, environment)
    start = find_start(arguments, environment)
    expected = _expected(start, arguments, environment)
    line = [
        *arguments[: start.at + 1],
        *replace_programs(arguments[start.at + 1 :], _check_line(expected, environment), start.environment),
    ]
    reports: dict[tuple[str, str], NodeReport] = {}
    with jobs.start(line) as process:
        for text in ProgramOutput(process).lines(_MOST_SILENCE):
            report = _read(text)
            if report is not None:
                reports.setdefault((report.node, report.boot), report)
            elif MARK not in text:
                print(text, end="", file=sys.stderr)  # of the launcher
        status = process.wait()
    if not reports:
        raise StrettoError(
            f"{start.program} ended with status {status}, and no node has reported; see what it said above"
        )
    found = sorted(reports.values(), key=lambda one: _in_order(one.node))
    return Cluster(found, find_differences(found))


def _expected(start: Start, arguments: Sequence[str], environment: Mapping[str, str]) -> Expected:
    launcher = start.launcher
    library = mpi.find_libmpi(launcher) if launcher else None
    if launcher and library is None:
        # Debian's MPICH has no other name.
        library = mpi.find_library_below(launcher.prefix, "libmpich.so.12")
    return Expected(
        library=str(paths.library()),
        prefix=str(launcher.prefix) if launcher and library else "",
        soname=library.name if library else "",
        programs=find_rank_programs(arguments, environment),
    )


def _check_line(expected: Expected, environment: Mapping[str, str]) -> list[str]:
    """What a rank becomes. It gets what jobs would get, and finds Python and Stretto where we have them."""
    variables = stretto_variables(environment)
    if environment.get("PYTHONPATH"):
        variables["PYTHONPATH"] = environment["PYTHONPATH"]
    assignments = [f"{name}={value}" for name, value in variables.items()]
    return ["sh", "-c", _SCRIPT, "sh", *(["env", *assignments] if assignments else []), *command(expected)]


def _read(text: str) -> NodeReport | None:
    _, mark, lacking = text.partition(_LACKS)
    if not mark:
        return read_report(text)
    node, _, reason = lacking.strip().partition(" ")
    detail = f"{shlex.join([sys.executable, '-m', 'stretto'])} does not work there: {reason}"
    return NodeReport(node, "", [], detail)


def _in_order(name: str) -> tuple[str, int, str]:
    """Names by their numbers: n2 before n10."""
    digits = "".join(letter for letter in name if letter.isdigit())
    return ("".join(letter for letter in name if not letter.isdigit()), int(digits or 0), name)


def find_differences(reports: Sequence[NodeReport]) -> list[Difference]:
    """What is not equal on all nodes, and what is wrong on all of them."""
    able = [one for one in reports if not one.failed]
    reasons = {one.node: (Verdict.BAD, one.failed) for one in reports if one.failed}
    found = [
        Difference(verdict, "checks", detail, nodes, False) for (verdict, detail), nodes in _grouped(reasons)
    ]
    for what in dict.fromkeys(finding.what for report in able for finding in report.findings):
        details = {one.node: _detail(one, what) for one in able}
        found += _differences(what, _grouped(details))
    return found


def _detail(report: NodeReport, what: str) -> tuple[Verdict, str]:
    """What a node has found about something."""
    its = next((one for one in report.findings if one.what == what), None)
    return (its.verdict, its.detail) if its else (Verdict.ABSENT, "not there")


def _grouped(details: Mapping[str, tuple[Verdict, str]]) -> list[tuple[tuple[Verdict, str], list[str]]]:
    """The nodes that have the same, the fewest first."""
    groups: dict[tuple[Verdict, str], list[str]] = {}
    for node, detail in details.items():
        groups.setdefault(detail, []).append(node)
    return sorted(groups.items(), key=lambda one: len(one[1]))


def _differences(what: str, groups: Sequence[tuple[tuple[Verdict, str], list[str]]]) -> Iterator[Difference]:
    if len(groups) == 1:
        ((verdict, detail), nodes) = groups[0]
        if verdict is Verdict.BAD:
            yield Difference(verdict, what, detail, nodes, False)
        return
    # Whoever has what most nodes have is right.
    has_rest = len(groups[-1][1]) > len(groups[-2][1])
    for (verdict, detail), nodes in groups:
        is_rest = has_rest and nodes is groups[-1][1]
        is_wrong = what.startswith(_MUST_AGREE) and not is_rest
        yield Difference(Verdict.BAD if is_wrong else verdict, what, detail, nodes, is_rest)
