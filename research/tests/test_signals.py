# SPDX-License-Identifier: Apache-2.0
"""No process or file of a job is left, however its command ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tests.python.launch.test_jobs import START, command, is_alive, let_print, pids_in

if TYPE_CHECKING:
    from tests.python.conftest import MeasuringProgram


def test_a_signal_before_the_first_result(
    program: MeasuringProgram, environment: dict[str, str], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    let_print(program, pids, START)
    study = ("study", "-o", str(tmp_path / "study"), "--mpi", "openmpi", "--", "env")
    with command(environment, *study) as process:
        (pid,) = pids_in(pids)
        process.terminate()
        _, said = process.communicate(timeout=60)
        assert process.returncode == 143
    assert not is_alive(pid)
    assert "nothing was written" in said


def test_a_signal_ends_simulations_and_no_other_begins(environment: dict[str, str], tmp_path: Path) -> None:
    pids, tools = tmp_path / "pids", tmp_path / "bin"
    tools.mkdir()
    smpirun = tools / "smpirun"
    smpirun.write_text(f"#!/bin/sh\necho $$ >> {pids}\nexec sleep 100\n")
    smpirun.chmod(0o755)
    del environment["STRETTO_LIB_DIR"]
    environment |= {"PATH": f"{tools}:{environment['PATH']}", "TMPDIR": str(tmp_path / "bin")}
    specs = "ring,rabenseifner,recursive_doubling,native,auto,ring:segments=2,ring:segments=4,ring:segments=8"
    with command(
        environment, "simulate", "--nodes", "2", "--", "bench", "allreduce", "--specs", specs
    ) as process:
        begun = pids_in(pids)
        process.terminate()
        process.communicate(timeout=60)
        assert process.returncode == 143
    begun = pids_in(pids)
    assert len(begun) <= (os.cpu_count() or 1)
    assert not any(map(is_alive, begun))
    assert list(tools.iterdir()) == [smpirun]
