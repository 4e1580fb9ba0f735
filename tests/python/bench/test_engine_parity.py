# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the engine beside the libraries' own algorithms runs. Its times are not judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "engine_parity.py"


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_every_pair_of_algorithms_is_measured(mpi: str, tmp_path: Path) -> None:
    file = tmp_path / "parity.json"
    command = [sys.executable, str(BENCHMARK), "allreduce", "--mpi", mpi, "--sizes", "1KiB"]
    done = subprocess.run(
        [*command, "--repetitions", "3", "--json", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(file.read_text())["results"]
    assert {one["algorithm"] for one in results} >= {"recursive_doubling", "rabenseifner"}
    assert all(one["ratio"]["median"] > 0 for one in results)
    assert "median of sizes" in done.stdout
