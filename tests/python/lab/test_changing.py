# SPDX-License-Identifier: Apache-2.0
"""A network that changes in the middle of a job (`stretto lab set`)."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from tests.python.conftest import Runner

from stretto.lab import jobs
from stretto.lab.cluster import Lab
from stretto.lab.jobs import Job
from stretto.lab.links import Links
from stretto.launch import mpi as installs

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
