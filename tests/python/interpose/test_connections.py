# SPDX-License-Identifier: Apache-2.0
"""Connections of Stretto's own between the nodes of an MPI job (STRETTO_CONNECTIONS)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.outage import outage
from tests.python.conftest import Runner

from stretto.lab import jobs
from stretto.lab.cluster import Lab
from stretto.lab.jobs import Job
from stretto.lab.links import Links
from stretto.launch import mpi as installs

CARRIES = "the MPI library carries all messages"
UNREACHED = f"STRETTO_CONNECTIONS: a node cannot reach another node within 5 s; {CARRIES}"
TWO_NODES = {"STRETTO_TOPOLOGY": "nodes=2,ppn=1", "STRETTO_ALLREDUCE": "ring"}


def statistics(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "stats.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("value", "least"), [("0", None), ("", None), ("1", 16 << 10), ("2", 2), ("1KiB", 1024)]
)
def test_the_setting(mpi: Runner, tmp_path: Path, value: str, least: int | None) -> None:
    more = {**TWO_NODES, "STRETTO_CONNECTIONS": value, "STRETTO_STATS": str(tmp_path / "stats.json")}
    ran = mpi.run(more=more)
    assert ran.right, ran.output
    assert ran.lines == [], ran.output
    assert statistics(tmp_path).get("connections_from") == least


@pytest.mark.parametrize("value", ["yes", "-1", "1 KiB of"])
def test_a_setting_that_is_none(mpi: Runner, value: str) -> None:
    ran = mpi.run(more={**TWO_NODES, "STRETTO_CONNECTIONS": value})
    assert ran.right, ran.output
    assert ran.lines == [
        f'stretto: STRETTO_CONNECTIONS: must be 0, 1, auto, or a size, not "{value}"; it is ignored'
    ]


def test_one_node_has_none(mpi: Runner, tmp_path: Path) -> None:
    ran = mpi.run(more={"STRETTO_CONNECTIONS": "1", "STRETTO_STATS": str(tmp_path / "stats.json")})
    assert ran.right, ran.output
    assert "connections_from" not in statistics(tmp_path)


def test_an_interface_that_is_none(mpi: Runner) -> None:
    ran = mpi.run(more={**TWO_NODES, "STRETTO_CONNECTIONS": "1", "STRETTO_INTERFACE": "none7"})
    assert ran.right, ran.output
    line = f"stretto: STRETTO_CONNECTIONS: not every node has an interface none7 with an address; {CARRIES}"
    assert ran.lines == [line]


def test_too_few_files_for_all_connections(mpi: Runner) -> None:
    program = ["bash", "-c", f"ulimit -n 65; exec {mpi.compiled('probe.cpp')}"]
    ran = mpi.run(program, more={**TWO_NODES, "STRETTO_CONNECTIONS": "1"})
    assert ran.right, ran.output
    (line,) = ran.lines
    assert "a rank cannot open enough files" in line
    assert line.endswith(CARRIES)


# MPICH 4.0.2 over TCP now and then hangs in its own MPI_Finalize.
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_threads_measure_on_communicators_of_their_own(mpi: Runner, tmp_path: Path) -> None:
    program = [str(mpi.compiled("guarded.cpp", "-pthread")), "threads"]
    variables = {"STRETTO_FABRIC": str(tmp_path / "fabric.json"), "STRETTO_CONNECTIONS": "auto"}
    with Lab.temporary(Links.even(3, "8gbit"), name=f"stretto-test{os.getpid()}-threads") as lab:
        for _ in range(3):
            job = Job(program, stretto=True, variables=variables)
            with jobs.start(lab, installs.find_install(mpi.abi), job, stdout=subprocess.PIPE) as process:
                output, _ = process.communicate(timeout=120)
            assert process.returncode == 0, output
            assert "right" in output.splitlines()


# MPICH 4.0.2 over TCP now and then hangs in its own MPI_Finalize.
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("interface", ["eth0", "lo"])
def test_a_job_measures_and_the_next_ones_know(mpi: Runner, tmp_path: Path, interface: str) -> None:
    program = ["bash", "-c", f"exec {mpi.compiled('guarded.cpp', '-pthread')} usual 2>&1"]
    file = tmp_path / "fabric.json"
    variables = {"STRETTO_FABRIC": str(file), "STRETTO_TABLE": "none"}
    variables |= {"STRETTO_STATS": str(tmp_path / "stats.json"), "STRETTO_INTERFACE": interface}
    reaches = interface == "eth0"
    with Lab.temporary(Links.even(2, "8gbit"), name=f"stretto-test{os.getpid()}-auto") as lab:

        def run() -> str:
            job = Job(program, stretto=True, variables=variables)
            with jobs.start(lab, installs.find_install(mpi.abi), job, stdout=subprocess.PIPE) as process:
                output, _ = process.communicate(timeout=120)
            assert process.returncode == 0, output
            assert "right" in output.splitlines()
            return output

        # On a machine where other programs compute, links may look slow, so that connections are not tried,
        # or not kept when the job measures once more.
        assert run().count("stretto:") <= (0 if reaches else 1)
        known = json.loads(file.read_text())
        assert known["measured"].get("connections_from") in (
            None,
            statistics(tmp_path).get("connections_from"),
        )
        # The job must not measure again, as it would after a busy machine, or if calls took another time.
        variables["STRETTO_ONLINE"] = "freeze"
        known["measured"] |= {"connections_from": 20000, "busy": 0.01}
        known["decisions"] = []
        file.write_text(json.dumps(known))
        output = run()
        assert output.count("stretto:") == (0 if reaches else 1), output
        assert reaches or UNREACHED in output
        assert statistics(tmp_path).get("connections_from") == (20000 if reaches else None)


# MPICH 4.0.2 over TCP now and then hangs in its own MPI_Finalize.
@pytest.mark.measures
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_where_a_connection_is_limited_there_are_several(mpi: Runner, tmp_path: Path) -> None:
    program = [str(mpi.compiled("guarded.cpp", "-pthread")), "usual"]
    file = tmp_path / "fabric.json"
    variables = {"STRETTO_FABRIC": str(file), "STRETTO_CONNECTIONS": "1", "STRETTO_TABLE": "none"}
    links = Links(("8gbit",) * 2, connection="1gbit")
    with (
        Lab.temporary(links, name=f"stretto-test{os.getpid()}-streams") as lab,
        jobs.start(
            lab,
            installs.find_install(mpi.abi),
            Job(program, stretto=True, variables=variables),
            stdout=subprocess.PIPE,
        ) as process,
    ):
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert json.loads(file.read_text())["measured"]["streams"] in (4, 8)


# MPICH 4.0.2 over TCP now and then hangs in its own MPI_Finalize.
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize(
    ("interface", "of_library", "line"),
    [
        ("", "eth0", ""),
        # The name is not that of an interface, but of a device of InfiniBand.
        ("", "mlx5_0:1", ""),
        ("eth0", "lo", ""),
        # Each node listens where no other one reaches it.
        ("lo", "", UNREACHED),
        ("", "lo", UNREACHED),
    ],
)
def test_nodes_of_a_network(mpi: Runner, tmp_path: Path, interface: str, of_library: str, line: str) -> None:
    """`of_library`: the interface in a variable that Open MPI's own TCP does not read."""
    program = mpi.compiled("guarded.cpp", "-pthread")
    line_of_shell = f"unset OMPI_MCA_btl_tcp_if_include; exec {program} small 2>&1"
    variables = {"STRETTO_FABRIC": "none", "STRETTO_CONNECTIONS": "1", "STRETTO_INTERFACE": interface}
    variables["UCX_NET_DEVICES"] = of_library
    variables["STRETTO_STATS"] = str(tmp_path / "stats.json")
    job = Job(["bash", "-c", line_of_shell], stretto=True, variables=variables)
    with (
        Lab.temporary(Links.even(3, "1gbit"), name=f"stretto-test{os.getpid()}-connected") as lab,
        jobs.start(lab, installs.find_install(mpi.abi), job, stdout=subprocess.PIPE) as process,
    ):
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "right" in output.splitlines()
    assert (line in output) if line else ("stretto:" not in output), output
    assert ("connections_from" in statistics(tmp_path)) == (not line)


def test_ports_of_the_library(mpi: Runner) -> None:
    """Both ranks are on this machine, and may listen on one port, as the user of Intel MPI would say."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    more = {**TWO_NODES, "STRETTO_CONNECTIONS": "1", "I_MPI_PORT_RANGE": f"{port}:{port}"}
    ran = mpi.run(more=more)
    assert ran.right, ran.output
    (line,) = ran.lines
    assert line.endswith(f"or no free port of I_MPI_PORT_RANGE; {CARRIES}"), line


# MPICH 4.0.2 over TCP now and then hangs in its own MPI_Finalize.
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("blocked", [1, 2])
def test_a_firewall_between_two_nodes(mpi: Runner, tmp_path: Path, blocked: int) -> None:
    """Node 0 does not reach Stretto's port of another node, its neighbour or not."""
    port = 23456
    program = ["bash", "-c", f"exec {mpi.compiled('guarded.cpp', '-pthread')} small 2>&1"]
    # Open MPI does not read this one.
    variables = {"STRETTO_CONNECTIONS": "1", "I_MPI_PORT_RANGE": f"{port}:{port}"}
    variables |= {"STRETTO_FABRIC": "none", "STRETTO_STATS": str(tmp_path / "stats.json")}
    with Lab.temporary(Links.even(4, "1gbit"), name=f"stretto-test{os.getpid()}-wall") as lab:
        wall = f"ip rule add to 10.77.0.{blocked + 1} ipproto tcp dport {port} blackhole"
        subprocess.run(lab.enter(lab.require().hosts[0], wall.split()), check=True)
        job = Job(program, stretto=True, variables=variables)
        with jobs.start(lab, installs.find_install(mpi.abi), job, stdout=subprocess.PIPE) as process:
            output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "right" in output.splitlines()
    assert UNREACHED in output
    assert "connections_from" not in statistics(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_an_outage_while_no_rank_communicates(mpi: Runner, tmp_path: Path) -> None:
    """The MPI library's own connections are idle, too. (UCX, below MPICH 4, gives the other rank up.)"""
    program = [str(mpi.compiled("idle.cpp")), str(tmp_path / "job")]
    variables = {"STRETTO_FABRIC": "none", "STRETTO_CONNECTIONS": "1", "STRETTO_ALLREDUCE": "ring"}
    variables["STRETTO_STATS"] = str(tmp_path / "stats.json")
    job = Job(program, stretto=True, variables=variables)
    with (
        Lab.temporary(Links.even(2, "1gbit"), name=f"stretto-test{os.getpid()}-outage") as lab,
        jobs.start(lab, installs.find_install(mpi.abi), job, stdout=subprocess.PIPE) as process,
    ):
        while not all((tmp_path / f"job-idle-{rank}").exists() for rank in range(2)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
        with outage(lab, 1):
            time.sleep(40)
        (tmp_path / "job-goes-on").touch()
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "right" in output.splitlines()
    assert statistics(tmp_path)["connections_from"] is not None
