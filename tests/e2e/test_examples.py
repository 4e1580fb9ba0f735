# SPDX-License-Identifier: Apache-2.0
"""The examples that are shown in docs/how-to do their work under Stretto, by the spec asked for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

EXAMPLES = Path(__file__).parents[2] / "examples"
SPEC = "ring:segments=4"


def allreduces(stats: Path) -> dict[int, int]:
    """Returns the number of calls by SPEC, by size class."""
    calls = json.loads(stats.read_text())["calls"]
    return {
        call["bytes_from"]: call["calls"]
        for call in calls
        if call["collective"] == "allreduce" and call["spec"] == SPEC
    }


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_fortran(local_ranks: Callable[[str], LocalRanks], name: str, tmp_path: Path) -> None:
    program, stats = tmp_path / "sum", tmp_path / "stats.json"
    subprocess.run(
        [f"mpifort.{name}", str(EXAMPLES / "sum.f90"), "-J", str(tmp_path), "-o", str(program)], check=True
    )
    output = local_ranks(name).run(2, [str(program)], specs=[SPEC], stats=stats)
    assert "the sum over 2 ranks is right" in output
    assert allreduces(stats) == {16 << 20: 1}


def test_horovod(local_ranks: Callable[[str], LocalRanks], tensorflow: Path, tmp_path: Path) -> None:
    program, stats = [str(tensorflow), str(EXAMPLES / "train_digits_horovod.py")], tmp_path / "stats.json"
    ours = local_ranks("openmpi").run(2, program, specs=[SPEC], stats=stats)
    without = local_ranks("openmpi").run(2, program)
    # A sum of two numbers has only one order, so both jobs learn the same.
    accuracy = [line for line in ours.splitlines() if "accuracy" in line]
    assert len(accuracy) == 1
    assert accuracy[0] in without
    # Horovod merges a step's gradients as they come, the two large layers' in one message or in two.
    assert sum(calls for size, calls in allreduces(stats).items() if size >= 1 << 20) >= 60
