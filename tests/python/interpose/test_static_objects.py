# SPDX-License-Identifier: Apache-2.0
"""MPI before main and after it: in constructors and destructors of the program and of its libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto.launch import mpi as installed
from stretto.support.paths import library

if TYPE_CHECKING:
    from tests.python.conftest import Runner

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "tests" / "interpose" / "static_objects.cpp"
# The macros for the library, if there is one, and for the program.
PARTS = {
    "a global object's destructor": ([], ["-DHAS_GLOBAL"]),
    "a library's static object": (["-DHAS_STATIC"], ["-DLIBRARY_ENDS"]),
    "a library's destructor": (["-DENDS"], ["-DLIBRARY_ENDS"]),
    "a library's constructor": (["-DBEGINS"], ["-DLIBRARY_BEGINS"]),
    "a library's constructor and destructor": (
        ["-DBEGINS", "-DENDS"],
        ["-DLIBRARY_BEGINS", "-DLIBRARY_ENDS"],
    ),
}
# MPICH 5 reports the end of a rank to its launcher in an exit handler. If a rank calls MPI after that, the
# launcher may get no report. It then kills the other ranks when the first rank has ended, even without
# Stretto.
KILLED_BY_LAUNCHER = 9
# The number of jobs. Some faults show only if nothing is kept from earlier jobs.
JOBS = 3


def settings(folder: Path, job: int) -> dict[str, str]:
    """Settings of two ranks as on two nodes, so that they measure the network, without earlier findings."""
    home = folder / f"home-{job}"
    home.mkdir()
    return {
        "STRETTO_TOPOLOGY": "nodes=2,ppn=1",
        "STRETTO_FABRIC": "",
        "STRETTO_CACHE": str(home),
        "HOME": str(home),
        "DONE": str(done(folder, job)),
    }


def done(folder: Path, job: int) -> Path:
    """The file that a job makes at its end, if all was right."""
    return folder / f"done-{job}"


@pytest.mark.parametrize("part", PARTS)
def test_mpi_in(part: str, mpi: Runner, tmp_path: Path) -> None:
    of_library, of_program = PARTS[part]
    flags = list(of_program)
    if of_library:
        flags.append(str(mpi.compiled(SOURCE.name, "-DLIBRARY", *of_library, "-shared", "-fPIC")))
    program = mpi.compiled(SOURCE.name, *flags)
    for job in range(JOBS):
        ran = mpi.run([str(program)], more=settings(tmp_path, job))
        assert ran.code == 0, ran.output
        assert done(tmp_path, job).exists(), ran.output
        assert ran.lines == []


@pytest.mark.parametrize("part", PARTS)
def test_mpi_5_in(part: str, tmp_path: Path) -> None:
    install = installed.find_install("mpich5")
    of_library, of_program = PARTS[part]
    compiler = install.launcher.path.with_name("mpicxx")
    command = [str(compiler), "-std=c++20", "-DMPICH_SKIP_MPICXX", str(SOURCE)]
    objects: list[Path] = []
    if of_library:
        objects.append(tmp_path / "early.so")
        subprocess.run([*command, "-DLIBRARY", *of_library, "-shared", "-fPIC", "-o", objects[0]], check=True)
    program = tmp_path / "program"
    subprocess.run([*command, *of_program, *objects, "-o", program], check=True)
    for job in range(JOBS):
        variables = {"LD_PRELOAD": str(library()), "STRETTO_TABLE": "none", **settings(tmp_path, job)}
        of_ranks = [word for item in variables.items() for word in ("-genv", *item)]
        ran = subprocess.run(
            [str(install.launcher.path), *of_ranks, "-n", "2", str(program)],
            env=os.environ | install.environment(),
            capture_output=True,
            text=True,
            timeout=100,
        )
        told = ran.stdout + ran.stderr
        assert ran.returncode in {0, KILLED_BY_LAUNCHER}, told
        assert done(tmp_path, job).exists(), told


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("int f(); const int at_load = f();", ".init_array"),
        ("#include <string>\nstd::string& f() { static std::string text; return text; }", "__cxa_atexit"),
        (
            "#include <vector>\nstd::vector<int>& f() { thread_local std::vector<int> some; return some; }",
            "__cxa_thread_atexit",
        ),
        ("#include <iostream>", ".init_array"),
        ("int& f() { static int& one = *new int; return one; }", None),
    ],
)
def test_the_build_checks_static_objects(text: str, fault: str | None, tmp_path: Path) -> None:
    source = tmp_path / "one.cpp"
    source.write_text(text, encoding="utf-8")
    made = tmp_path / "one.cpp.o"
    subprocess.run(["c++", "-std=c++20", "-O1", "-fPIC", "-c", source, "-o", made], check=True)
    shared = tmp_path / "libone.so"
    subprocess.run(["c++", "-shared", "-Wl,--unresolved-symbols=ignore-all", made, "-o", shared], check=True)
    objects = tmp_path / "objects.txt"
    objects.write_text(f"{made}\n", encoding="utf-8")
    check = ROOT / "cmake" / "check_static_objects.py"
    ran = subprocess.run([sys.executable, check, shared, objects], capture_output=True, text=True)
    assert (ran.returncode == 0) == (fault is None), ran.stderr
    assert (fault or "") in ran.stderr
