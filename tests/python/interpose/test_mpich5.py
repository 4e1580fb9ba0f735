# SPDX-License-Identifier: Apache-2.0
"""Functions of MPI 4.1 and later, with Stretto under them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from stretto.launch import mpi
from stretto.support.paths import library

ROOT = Path(__file__).parents[3]
RINGS = {"STRETTO_ALLREDUCE": "ring:segments=3"}
DISABLED = {"STRETTO_DISABLE": "1"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("mpich5") / "request_status"
    compiler = mpi.find_install("mpich5").launcher.path.with_name("mpicxx")
    source = ROOT / "tests" / "interpose" / "request_status.cpp"
    subprocess.run([compiler, "-std=c++20", "-I", ROOT / "src", source, "-o", out], check=True)
    return out


@pytest.mark.parametrize(
    ("part", "settings"),
    [
        ("library", RINGS),
        ("library", DISABLED),
        ("session", RINGS),
        ("own", RINGS),
        ("own", DISABLED),
        ("null", RINGS),
    ],
)
def test_requests_that_are_looked_at(program: Path, part: str, settings: dict[str, str]) -> None:
    install = mpi.find_install("mpich5")
    variables = {"LD_PRELOAD": str(library()), "STRETTO_TABLE": "none", **settings}
    settings_of_ranks = [word for item in variables.items() for word in ("-genv", *item)]
    ran = subprocess.run(
        [str(install.launcher.path), *settings_of_ranks, "-n", "2", str(program), part],
        env=os.environ | install.environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stderr
    assert "right" in ran.stdout
