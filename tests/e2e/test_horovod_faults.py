# SPDX-License-Identifier: Apache-2.0
"""What goes wrong under Horovod ends the job with Horovod's own words, with Stretto as without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

ROOT = Path(__file__).parents[2]
TENSORFLOW = ROOT / ".frameworks" / "tensorflow" / "bin" / "python"
RANKS = 3
# Long enough for any machine; nothing here is about time.
SECONDS = 120


def program(case: str) -> list[str]:
    assert TENSORFLOW.exists(), "TensorFlow is not installed: make frameworks"
    return [str(TENSORFLOW), str(Path(__file__).parent / "horovod_failing.py"), case]


def test_ranks_with_different_numbers_of_batches_that_join(local_ranks: Callable[[str], LocalRanks]) -> None:
    output = local_ranks("openmpi").run(RANKS, program("join"), specs=["ring:segments=4"])
    assert output.splitlines().count("right") == 1


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("fewer", "Horovod has been shut down"),
        ("hook", "the gradient has failed"),
        ("killed", "signal 9"),
    ],
)
def test_the_job_ends(local_ranks: Callable[[str], LocalRanks], case: str, line: str) -> None:
    its = local_ranks("openmpi")
    ours = [sys.executable, "-m", "stretto", "run", "--spec", "ring:segments=4", "--"]
    with subprocess.Popen(
        [*ours, *its.line(RANKS, program(case))],
        env={**os.environ, **its.install.environment()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            pytest.fail(f"{case} hangs")
    assert process.returncode != 0, output
    assert line in output, output
