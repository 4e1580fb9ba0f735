# SPDX-License-Identifier: Apache-2.0
"""A network that changes in the middle of a job (`stretto lab set`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import Runner

from stretto.lab import jobs
from stretto.lab.cluster import Lab
from stretto.lab.jobs import Job
from stretto.lab.links import Links
from stretto.launch import mpi as installs

NODES = 4
PATIENCE = 120  # s

# TCP's headers take part of the links' rate. Ranks that share cores lose more.
MBIT = 1e6 / 8


@pytest.mark.measures
def test_fifty_calls_later_the_choice_is_right_again(tmp_path: Path) -> None:
    # MPICH 4.0.2 over TCP now and then hangs in its own MPI_Finalize.
    mpi = Runner("openmpi", tmp_path)
    file = tmp_path / "fabric.json"
    program = [str(mpi.compiled("guarded.cpp", "-pthread")), "changing", str(tmp_path)]
    variables = {"STRETTO_FABRIC": str(file), "STRETTO_TABLE": "none"}
    job = Job(program, stretto=True, variables=variables)
    with (
        Lab.temporary(Links.even(3, "200mbit"), name=f"stretto-test{os.getpid()}-changing") as lab,
        jobs.start(lab, installs.find_install(mpi.abi), job, stdout=subprocess.PIPE) as process,
    ):
        until = time.monotonic() + 120
        while not list(tmp_path.glob("ready*")):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < until, "waited in vain"
            time.sleep(0.01)
        lab.change("50mbit")
        (tmp_path / "go").touch()
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "right" in output.splitlines()
    # The ranks have measured the network once more. The measured rate is that of a stream of messages: a
    # single message passes at once if the link had saved up its bytes.
    machine = json.loads(file.read_text())["measured"]["machine"]
    assert machine["limits"]["node"]["bandwidth"] == pytest.approx(50 * MBIT, rel=0.4)
    (ratio,) = [float(line.split()[1]) for line in output.splitlines() if line.startswith("ratio ")]
    assert ratio < 1.15


def wait_until(is_there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_there():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


@contextmanager
def started_by_openmpi(lab: Lab, folder: Path, variables: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    mpi = Runner("openmpi", folder)
    job = Job([str(mpi.compiled("long_calls.cpp")), str(folder)], stretto=True, variables=variables)
    with jobs.start(lab, installs.find_install(mpi.abi), job, stdout=subprocess.PIPE) as process:
        yield process


@contextmanager
def started_without_mpi(lab: Lab, folder: Path, variables: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    state = lab.state()
    assert state is not None
    program = [sys.executable, str(Path(__file__).parent / "long_calls.py")]
    with ExitStack() as all_ranks:
        ranks = [
            all_ranks.enter_context(
                subprocess.Popen(
                    lab.enter(node, [*program, str(rank), str(NODES), str(folder)]),
                    env={**os.environ, **variables},
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for rank, node in enumerate(state.hosts)
        ]
        yield ranks[0]


# The kernel's times say little about links where ranks wait for their cores.
@pytest.mark.measures
@pytest.mark.parametrize("started", [started_by_openmpi, started_without_mpi])
def test_calls_show_a_link_that_changes(started: Callable[..., Any], tmp_path: Path) -> None:
    file, statistics = tmp_path / "fabric.json", tmp_path / "statistics.json"
    variables = {"STRETTO_FABRIC": str(file), "STRETTO_TABLE": "none", "STRETTO_STATS": str(statistics)}

    def run(lab: Lab, rate: str) -> list[str]:
        """Change the link of node 2 in the midst of a job. Return the specs of its calls."""
        with started(lab, tmp_path, variables) as process:
            wait_until((tmp_path / "ready").exists, process)
            lab.change(rate, [2])
            (tmp_path / "go").touch()
            output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, output
        assert "right" in output.splitlines()
        for name in "ready", "go":
            (tmp_path / name).unlink()
        return [call["spec"] for call in json.loads(statistics.read_text())["calls"]]

    def rates() -> list[float]:
        node: dict[str, Any] = json.loads(file.read_text())["measured"]["machine"]["limits"]["node"]
        found: list[float] = node.get("rates", [])
        return found

    name = f"stretto-test{os.getpid()}-links"
    with Lab.temporary(Links.even(NODES, "200mbit"), name=name) as lab:
        specs = run(lab, "70mbit")
        assert len(rates()) == NODES, specs
        assert [rate / max(rates()) for rate in rates()] == pytest.approx([1, 1, 0.35, 1], abs=0.2)
        assert any(spec.startswith("weighted:links=100x2+") for spec in specs), specs
        # The next job knows it, and sees that the link is as fast as the others again.
        run(lab, "200mbit")
        assert rates() == []
