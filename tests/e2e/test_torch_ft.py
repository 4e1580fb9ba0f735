# SPDX-License-Identifier: Apache-2.0
"""torchft trains with Stretto's groups: replicas die and come back."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PROGRAM = str(FOLDER / "torch_ft.py")
SECONDS = 200
SETTINGS = {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "STRETTO_QUIET": "1"}


def test_a_replica_dies_and_comes_back(cache: dict[str, str], torch_libraries: Path) -> None:
    """The others go on without it, and then with it; all have the same parameters."""
    environment = {**os.environ, **cache, **SETTINGS}

    def started(*words: str) -> subprocess.Popen[str]:
        line = [str(torch_libraries), "-u", PROGRAM, *words]
        process = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True)
        stack.enter_context(process)
        stack.callback(process.kill)
        return process

    with contextlib.ExitStack() as stack:
        lighthouse = started("lighthouse")
        assert lighthouse.stdout is not None
        environment["TORCHFT_LIGHTHOUSE"] = lighthouse.stdout.readline().strip()
        others = [started("replica", name) for name in "ab"]
        assert started("replica", "c", "10").wait(SECONDS) == -signal.SIGKILL
        lines = {one.communicate(timeout=SECONDS)[0] for one in [*others, started("replica", "c")]}
    (line,) = lines
    assert line.startswith("done stretto [3, 2, 3] "), line


@pytest.mark.parametrize("module", ["ddp_test", "manager_integ_test", "local_sgd_integ_test"])
def test_its_own_tests_pass(
    run_program: Callable[[Sequence[str], dict[str, str], float], str],
    cache: dict[str, str],
    torch_libraries: Path,
    module: str,
) -> None:
    line = [str(torch_libraries), "-m", "pytest", "-q", "-p", "torch_ft_in_place", "-p", "no:cacheprovider"]
    line += ["-c", os.devnull, "--pyargs", f"torchft.{module}"]
    output = run_program(line, {**cache, **SETTINGS, "PYTHONPATH": str(FOLDER)}, SECONDS)
    assert " passed" in output
    assert " failed" not in output
