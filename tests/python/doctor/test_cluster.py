# SPDX-License-Identifier: Apache-2.0
"""`stretto doctor -- LAUNCHER`: the checks of all nodes, and what differs between them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stretto.cli.main import app
from stretto.doctor import cluster as doctor_cluster
from stretto.doctor import node
from stretto.doctor.checks import Finding, Verdict
from stretto.doctor.cluster import Difference, examine_cluster, find_differences
from stretto.doctor.node import NodeReport
from stretto.doctor.report import JobReport, print_job
from stretto.lab import jobs as lab_jobs
from stretto.lab.cluster import Lab
from stretto.lab.links import Links
from stretto.launch import mpi
from stretto.support.errors import StrettoError

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
NAME = f"stretto-doctor{os.getpid()}"
WHATS = [
    "stretto._core", "libstretto.so", "MPI library", "processor model", "processors", "shared memory",
    "/dev/shm", "locked memory", "fabric files",
]  # fmt: skip


@pytest.fixture(autouse=True)
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AS_ROOT.items():
        monkeypatch.setenv(name, value)


def report(name: str, failed: str = "", **details: str) -> NodeReport:
    findings = [Finding(Verdict.GOOD, what, detail) for what, detail in details.items()]
    return NodeReport(name, name, findings, failed)


def test_nodes_that_are_alike() -> None:
    assert find_differences([report(name, cores="2", memory="1 GiB") for name in ("n0", "n1", "n2")]) == []


def test_what_differs_names_the_fewest_first() -> None:
    reports = [report(f"n{number}", memory="1 GiB", cores="2") for number in range(4)]
    reports[2] = report("n2", memory="1 GiB", cores="4")
    assert find_differences(reports) == [
        Difference(Verdict.GOOD, "cores", "4", ["n2"], is_rest=False),
        Difference(Verdict.GOOD, "cores", "2", ["n0", "n1", "n3"], is_rest=True),
    ]


def test_two_nodes_that_differ_are_both_named() -> None:
    found = find_differences([report("n0", cores="2"), report("n1", cores="4")])
    assert [(one.nodes, one.is_rest) for one in found] == [(["n0"], False), (["n1"], False)]


def test_what_must_be_equal_is_wrong_where_few_have_it() -> None:
    reports = [report(f"n{number}", **{"MPI library": "4.1.4"}) for number in range(3)]
    reports.append(report("n3", **{"MPI library": "4.1.6"}))
    assert [(one.verdict, one.nodes) for one in find_differences(reports)] == [
        (Verdict.BAD, ["n3"]),
        (Verdict.GOOD, ["n0", "n1", "n2"]),
    ]


def test_what_a_node_does_not_have() -> None:
    few, rest = find_differences(
        [report("n0", a="1", b="2"), report("n1", a="1"), report("n2", a="1", b="2")]
    )
    assert (few.what, few.detail, few.nodes) == ("b", "not there", ["n1"])
    assert rest.nodes == ["n0", "n2"]


def test_what_is_wrong_on_all_nodes() -> None:
    wrong = Finding(Verdict.BAD, "libstretto.so", "it does not exist")
    absent = Finding(Verdict.ABSENT, "locked memory", "64 KiB")
    reports = [NodeReport(name, "", [wrong, absent]) for name in ("n0", "n1")]
    (found,) = find_differences(reports)
    assert (found.verdict, found.what, found.nodes) == (Verdict.BAD, "libstretto.so", ["n0", "n1"])


def test_a_node_that_cannot_be_checked_differs_in_nothing_else() -> None:
    (found,) = find_differences([report("n0", a="1"), report("n1", failed="no Python"), report("n2", a="1")])
    assert found == Difference(Verdict.BAD, "checks", "no Python", ["n1"], is_rest=False)


def test_reports_are_read_behind_what_launchers_put_before_them() -> None:
    there = report("n0", cores="2")
    line = node.report_line(there)
    assert "\n" not in line
    assert node.read_report(f"[1,0]<stdout>:{line}\n") == there
    assert node.read_report("something else\n") is None
    assert node.read_report(line[: len(line) // 2]) is None


def test_nodes_are_sorted_by_their_numbers() -> None:
    names = ["n10", "n2", "login", "n1"]
    assert sorted(names, key=doctor_cluster._in_order) == ["login", "n1", "n2", "n10"]


def printed(capsys: pytest.CaptureFixture[str], *reports: NodeReport) -> list[list[str]]:
    found = doctor_cluster.Cluster(list(reports), find_differences(reports))
    print_job(JobReport([], found))
    lines = capsys.readouterr().out.splitlines()
    return [line.split() for line in lines if line.strip() and "──" not in line]


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    alike = [report(name, cores="2") for name in ("n0", "n1", "n2")]
    assert printed(capsys, *alike) == [["all", "3", "nodes", "are", "alike:", "n0,", "n1,", "n2"]]
    *_, few, rest, last = printed(capsys, *alike, report("n3", cores="4"))
    assert few == ["ok", "cores", "n3", "4"]
    assert rest == ["ok", "cores", "the", "other", "3", "2"]
    assert last[:4] == ["4", "nodes", "have", "reported;"]
    assert printed(capsys, alike[0]) == [["n0", "finding"], ["ok", "cores", "2"]]


def doctor(*line: str) -> dict[str, Any]:
    shown = CliRunner().invoke(app, ["doctor", "--json", "--", *line])
    assert shown.exit_code in (0, 1), shown.output
    document: dict[str, Any] = json.loads(shown.stdout)
    assert shown.exit_code == int(
        any(one["verdict"] == "bad" for one in [*document["findings"], *document["differences"]])
    )
    return document


@pytest.mark.parametrize(
    "line", ["mpirun.openmpi --oversubscribe -np 3", "mpirun.mpich -np 3", "timeout 100 mpirun.mpich -np 2"]
)
def test_one_report_of_a_node_with_several_ranks(line: str) -> None:
    document = doctor(*line.split())
    (there,) = document["nodes"]
    assert (there["node"], there["error"]) == (os.uname().nodename, None)
    assert [one["what"] for one in there["findings"]] == WHATS
    found = {one["what"]: one["detail"] for one in there["findings"]}
    name = "Open MPI 4." if "openmpi" in line else "MPICH 4."
    assert found["MPI library"].startswith(name)
    assert found["processors"].startswith(f"{len(os.sched_getaffinity(0))} for")
    assert document["findings"] == []


def test_the_local_doctor_makes_the_same_checks() -> None:
    whats = [one.what for one in node.check_node(None, os.environ)]
    assert whats == [what for what in WHATS if what != "MPI library"]


def test_the_program_is_looked_at_and_not_started(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    document = doctor("mpirun.openmpi", "-np", "1", str(program), "-np", "7")
    assert document["findings"][0]["what"] == str(program)
    (there,) = document["nodes"]
    its = {one["what"]: one["detail"] for one in there["findings"]}
    assert its[str(program)] == "Stretto can be preloaded"
    assert its["MPI library of program"].startswith("linked with none")
    assert not (tmp_path / "started").exists()


def test_a_program_without_a_launcher_reaches_no_nodes() -> None:
    document = json.loads(CliRunner().invoke(app, ["doctor", "--json", "--", "sh"]).stdout)
    assert (document["nodes"], document["differences"]) == (None, None)


def test_a_launcher_that_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        StrettoError, match=r"mpirun\.openmpi ended with status \d+, and no node has reported"
    ):
        examine_cluster(["mpirun.openmpi", "--no-such-option"], os.environ)
    assert "no-such-option" in "".join(capfd.readouterr())


def test_srun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm numbers the ranks of a node, too. Here two nodes have two ranks each."""
    srun = tmp_path / "srun"
    srun.write_text(
        "#!/bin/sh\nshift 2\nfor host in n0 n1; do for rank in 0 1; do\n"
        '    SLURM_LOCALID=$rank unshare --uts sh -c "hostname $host; exec \\"\\$@\\"" sh "$@"\ndone; done\n'
    )
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    document = doctor("srun", "-N", "2")
    assert [one["node"] for one in document["nodes"]] == ["n0", "n1"]
    # Which MPI the ranks have is not known.
    assert [one["what"] for one in document["nodes"][0]["findings"]] == [
        what for what in WHATS if what != "MPI library"
    ]
    assert document["differences"] == []


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab.temporary(Links.even(3, "unlimited"), name=NAME) as lab:
        yield lab


def on_lab(lab: Lab, name: str, agent: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`stretto doctor` in the first node of a lab, with the launcher that reaches all."""
    job = lab_jobs.Job(["true"], ppn=2)
    install = mpi.find_install(name)
    line = lab_jobs.command(install, job, lab.require().hosts, agent or lab.remote_shell)
    words = [sys.executable, "-m", "stretto", "doctor", "--json", "--", *line.argv[:-1]]
    inherited = {name: value for name, value in os.environ.items() if name != "STRETTO_FABRIC"}
    return subprocess.run(
        lab.enter(lab.require().hosts[0], words),
        env=inherited | line.environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_the_nodes_of_a_cluster(lab: Lab, name: str) -> None:
    ran = on_lab(lab, name)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert [one["node"] for one in document["nodes"]] == lab.require().hosts
    assert document["differences"] == []


def test_nodes_that_differ(lab: Lab, tmp_path: Path) -> None:
    first, second, third = lab.require().hosts
    agent = tmp_path / "agent"
    agent.write_text(
        f"#!/bin/sh\ncase $1 in\n{second}) ulimit -l 64; export XDG_CACHE_HOME=/proc/none;;\n"
        # A node without the file system on which Python is.
        f"{third}) exec unshare -m sh -c 'mount -t tmpfs none {Path(sys.executable).parent}; exec \"$@\"' sh "
        f'{lab.remote_shell} "$@";;\nesac\nexec {lab.remote_shell} "$@"\n'
    )
    agent.chmod(0o755)
    ran = on_lab(lab, "openmpi", agent)
    assert ran.returncode == 1, ran.stderr
    document = json.loads(ran.stdout)
    found = {(one["what"], *one["nodes"]): one for one in document["differences"]}
    lacking = found[("checks", third)]
    assert lacking["verdict"] == "bad"
    assert lacking["detail"].startswith(f"{sys.executable} -m stretto does not work there: ")
    assert lacking["detail"].endswith("not found") or "No such file" in lacking["detail"]
    assert found[("locked memory", second)]["detail"].startswith("64 KiB")
    lost = "what jobs find out about the network is lost"
    assert (
        found[("fabric files", second)]["detail"]
        == f"/proc/none/stretto/fabrics cannot be written to; {lost}"
    )
    assert set(found) <= {("checks", third)} | {
        (what, host) for what in ("locked memory", "fabric files") for host in (first, second)
    }
