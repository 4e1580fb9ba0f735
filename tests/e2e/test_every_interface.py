# SPDX-License-Identifier: Apache-2.0
"""A program of every interface, started as users start it: plain `stretto run` and `stretto exec`."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from stretto.support.paths import find_command

ROOT = Path(__file__).parent.parent.parent
SOURCES = ROOT / "tests" / "interpose"
STRETTO = str(find_command())


@dataclass(frozen=True)
class Library:
    """An MPI library with a compiler and a launcher."""

    compiler: str
    launcher: str
    before: tuple[str, ...] = ()


FETCHED = ROOT / ".mpi"
LIBRARIES = {
    "openmpi4": Library("mpicc.openmpi", "mpirun.openmpi"),
    "mpich4": Library("mpicc.mpich", "mpirun.mpich"),
    "openmpi5": Library(f"{FETCHED}/openmpi5/bin/mpicc", f"{FETCHED}/openmpi5/bin/mpirun"),
    "mpich5": Library(f"{FETCHED}/mpich5/bin/mpicc", f"{FETCHED}/mpich5/bin/mpirun"),
    "abi": Library(f"{FETCHED}/mpich5/bin/mpicc_abi", f"{FETCHED}/mpich5/bin/mpirun"),
    # Intel MPI's compilers are not here. Programs for MPICH run on it, and find it as after its setvars.sh.
    "intelmpi": Library(
        "mpicc.mpich",
        f"{FETCHED}/intelmpi/bin/mpiexec.hydra",
        (
            "env",
            f"I_MPI_ROOT={FETCHED}/intelmpi",
            f"LD_LIBRARY_PATH={FETCHED}/intelmpi/lib:{FETCHED}/intelmpi/lib/release",
        ),
    ),
}


@pytest.fixture(scope="module", params=sorted(LIBRARIES))
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The words that start two ranks of the program."""
    mpi = LIBRARIES[request.param]
    program = tmp_path_factory.mktemp(request.param) / "every_buffer"
    source = SOURCES / "every_buffer.c"
    subprocess.run([mpi.compiler, str(source), "-o", str(program)], check=True, capture_output=True)
    options = ["--allow-run-as-root", "--oversubscribe"] if "openmpi" in request.param else []
    return [*mpi.before, mpi.launcher, *options, "-np", "2", str(program)]


def start(words: list[str], home: Path) -> str:
    """Returns the output of a user's first job: no variable of Stretto is set, and the home is empty."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO_")}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_run(started: list[str], tmp_path: Path) -> None:
    said = start([STRETTO, "run", "--summary", "--", *started], tmp_path)
    assert "right" in said.splitlines()
    assert "by Stretto" in said


def test_exec(started: list[str], tmp_path: Path) -> None:
    *launcher, program = started
    said = start([*launcher, STRETTO, "exec", "--summary", program], tmp_path)
    assert "right" in said.splitlines()
    assert "by Stretto" in said


def test_exec_of_a_shell(started: list[str], tmp_path: Path) -> None:
    """The shell itself does not use MPI, but starts a program that does."""
    *launcher, program = started
    said = start([*launcher, STRETTO, "exec", "--summary", "sh", "-c", f"{program}; exit $?"], tmp_path)
    assert "right" in said.splitlines()
    assert "by Stretto" in said
