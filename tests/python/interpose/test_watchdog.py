# SPDX-License-Identifier: Apache-2.0
"""The watchdog names the ranks that have not made a call. tests/e2e/test_lost_ranks.py has the rest."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto.support.paths import library

if TYPE_CHECKING:
    from tests.python.conftest import Runner

RANKS = 3


@pytest.mark.parametrize(
    ("spec", "watchdog", "steps"), [("native", "1s", 0), ("ring", "1s", 0), ("ring", "auto", 20)]
)
def test_a_rank_that_computes(mpi: Runner, spec: str, watchdog: str, steps: int, tmp_path: Path) -> None:
    go = tmp_path / "go"
    values = {"LD_PRELOAD": str(library()), "STRETTO_WATCHDOG": watchdog, "STRETTO_ALLREDUCE": spec}
    argv = [
        f"mpirun.{mpi.abi}",
        *mpi.variables(values),
        "-n",
        str(RANKS),
        str(mpi.compiled("late.c")),
        str(go),
        str(steps),
    ]
    if mpi.abi == "openmpi":
        argv[1:1] = ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    told: set[str] = set()
    # The job ends even if the watchdog reports nothing. Before it knows the steps, it waits for 30 s.
    end = threading.Timer(25, go.touch)
    end.start()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            # On a busy machine, the watchdog may also report an earlier call, which all ranks have made.
            if "(rank 1 has not called it; its last call here began " in line:
                call = f"allreduce (call number {steps + 1} of a communicator of 3 ranks, 4000 bytes"
                assert call in line
                told.add(line.split(" after ")[0])
            if len(told) == RANKS - 1:
                go.touch()
                break
        rest = process.stdout.read()
    end.cancel()
    assert told == {"stretto: rank 0", "stretto: rank 2"}
    assert "right" in rest.splitlines()
    assert process.returncode == 0
