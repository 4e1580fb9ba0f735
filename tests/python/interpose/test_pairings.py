# SPDX-License-Identifier: Apache-2.0
"""Every Stretto under every MPI library: the right one serves the program, and no other one harms it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from stretto.launch import mpi
from stretto.launch.run import rank_options
from stretto.support.paths import ABIS, library

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "tests" / "interpose"
FLAGS = ["-std=c++20", "-O1", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]


@dataclass(frozen=True)
class Library:
    """An MPI library, as a program is built for it."""

    install: str
    """What `--mpi` calls it."""
    abi: str
    """The binary interface by which the program calls it."""

    def __str__(self) -> str:
        return f"{self.install}-{self.abi}"

    @property
    def soname(self) -> str:
        return {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12", "abi": "libmpi_abi.so.1"}[self.abi]

    def path(self) -> Path:
        """The library's file."""
        install = mpi.find_install(self.install)
        found = mpi.find_library_below(install.launcher.prefix, self.soname)
        assert found is not None
        return found


LIBRARIES = [
    Library("openmpi", "openmpi"),
    Library("openmpi5", "openmpi"),
    Library("mpich", "mpich"),
    Library("mpich5", "mpich"),
    Library("mpich5", "abi"),
    Library("intelmpi", "mpich"),
    Library("intelmpi", "abi"),
]


@dataclass(frozen=True)
class Programs:
    folder: Path

    def of(self, abi: str, *, module: bool = False) -> Path:
        """The program for a binary interface, or a module with the same; made once."""
        out = self.folder / f"pairing-{abi}{'.so' if module else ''}"
        if not out.exists():
            compiler = {
                "openmpi": "mpicxx.openmpi",
                "mpich": "mpicxx.mpich",
                "abi": str(self.standard_compiler("mpicxx_abi")),
            }[abi]
            kind = ["-DMODULE", "-shared", "-fPIC"] if module else []
            # Without the compiler wrapper's rpath, which would prevail over the environment's.
            command = [compiler, *FLAGS, *kind, str(PROGRAMS / "pairing.cpp"), "-o", str(out)]
            subprocess.run([*command, "-Wl,--enable-new-dtags"], check=True, capture_output=True)
        return out

    def opener(self) -> Path:
        """A program that opens a module late and privately."""
        out = self.folder / "opens-late"
        if not out.exists():
            subprocess.run(["cc", PROGRAMS / "opens_late.c", "-o", out, "-ldl"], check=True)
        return out

    def bound_at_once(self, abi: str) -> Path:
        """A program with a library that needs functions with large counts as soon as it is loaded."""
        out = self.folder / f"bound-{abi}"
        if not out.exists():
            compiler = "mpicc.mpich" if abi == "mpich" else str(self.standard_compiler("mpicc_abi"))
            call = "return MPI_Allreduce_c(in, out, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);"
            body = f"#include <mpi.h>\nint sum(const int* in, int* out) {{ {call} }}\n"
            parts = ["-shared", "-fPIC", "-Wl,-z,now", "-Wl,--enable-new-dtags"]
            self._compile(compiler, body, self.folder / f"libsum-{abi}.so", *parts)
            lines = ["MPI_Init(0, 0);", "int in[100] = {1}, out[100], rank;", "sum(in, out);"]
            lines += ["MPI_Comm_rank(MPI_COMM_WORLD, &rank);", 'if (rank == 0 && out[0] == 2) puts("right");']
            main = f"int main(void) {{ {' '.join(lines)} MPI_Finalize(); return 0; }}\n"
            body = f"#include <mpi.h>\n#include <stdio.h>\nint sum(const int*, int*);\n{main}"
            rpath = [f"-Wl,-rpath,{self.folder}", "-Wl,--enable-new-dtags"]
            self._compile(compiler, body, out, str(self.folder / f"libsum-{abi}.so"), *rpath)
        return out

    @staticmethod
    def standard_compiler(name: str) -> Path:
        """A compiler wrapper for the standard ABI."""
        return mpi.find_install("mpich5").launcher.path.with_name(name)

    def _compile(self, compiler: str, body: str, out: Path, *options: str) -> None:
        source = self.folder / f"{out.name}.c"
        source.write_text(body)
        subprocess.run([compiler, source, "-o", out, *options], check=True, capture_output=True)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("pairings"))


@dataclass(frozen=True)
class Ran:
    code: int
    output: str

    @property
    def lines(self) -> list[str]:
        """What Stretto says, but for the summary."""
        lines = [line for line in self.output.splitlines() if line.startswith("stretto: ")]
        return [line for line in lines if " on rank 0" not in line]

    @property
    def served(self) -> bool:
        """Whether Stretto carried out all collectives that were counted."""
        return "by Stretto and 0 by" in self.output


def run(target: Library, strettos: Sequence[str], program: Sequence[str]) -> Ran:
    """Runs the program on two ranks with these Strettos preloaded, in this order."""
    install = mpi.find_install(target.install)
    own = [str(library(abi)) for abi in strettos]
    variables = {
        "LD_PRELOAD": ":".join([*own, os.environ["LD_PRELOAD"]]),
        "STRETTO_SUMMARY": "1",
        "STRETTO_ALLREDUCE": "ring",
        "STRETTO_BCAST": "chain",
        "STRETTO_REDUCE": "chain",
        "STRETTO_ALLGATHER": "ring",
        "STRETTO_PROGRESS_THREAD": "1",
        "STRETTO_FABRIC": "none",
        "STRETTO_TABLE": "none",
    }
    options = ["--allow-run-as-root", "--oversubscribe"] if install.flavor.abi == "openmpi" else []
    words = [*options, *rank_options(install.flavor, variables), "-n", "2", *program]
    ran = subprocess.run(
        [str(install.launcher.path), *words],
        env=os.environ | install.environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    return Ran(ran.returncode, ran.stdout + ran.stderr)


def check(ran: Ran, target: Library, strettos: Sequence[str]) -> None:
    """It is right, by the Stretto for it if there is one; else one line tells of the first one."""
    assert ran.code == 0, ran.output
    assert "right" in ran.output.splitlines(), ran.output
    if target.abi in strettos:
        assert ran.lines == [], ran.output
        assert ran.served, ran.output
    else:
        assert len(ran.lines) == 1, ran.output
        assert f"for the binary interface {strettos[0]}, but the process uses " in ran.lines[0]
        assert ran.lines[0].endswith(
            f"; preload the one for {target.abi}; every call goes to the MPI library"
        )


@pytest.mark.parametrize("strettos", [*((abi,) for abi in ABIS), ABIS, ABIS[::-1]], ids="-".join)
@pytest.mark.parametrize("target", LIBRARIES, ids=str)
def test_every_pairing(target: Library, strettos: Sequence[str], programs: Programs) -> None:
    check(run(target, strettos, [str(programs.of(target.abi))]), target, strettos)


@pytest.mark.parametrize("strettos", [*((abi,) for abi in ABIS), ABIS], ids="-".join)
@pytest.mark.parametrize("target", LIBRARIES, ids=str)
def test_a_library_that_is_opened_late(target: Library, strettos: Sequence[str], programs: Programs) -> None:
    program = [str(programs.opener()), str(programs.of(target.abi, module=True))]
    check(run(target, strettos, program), target, strettos)


@pytest.mark.parametrize("strettos", [*((abi,) for abi in ABIS), ABIS], ids="-".join)
@pytest.mark.parametrize(
    ("target", "other"),
    [
        (Library("openmpi", "openmpi"), Library("mpich5", "abi")),
        (Library("mpich5", "mpich"), Library("mpich5", "abi")),
        (Library("mpich5", "abi"), Library("mpich5", "mpich")),
        (Library("mpich5", "abi"), Library("openmpi", "openmpi")),
        (Library("intelmpi", "mpich"), Library("openmpi", "openmpi")),
    ],
    ids=str,
)
def test_two_libraries(target: Library, other: Library, strettos: Sequence[str], programs: Programs) -> None:
    """The other one is loaded, and never called."""
    program = [str(programs.of(target.abi)), "beside", str(other.path())]
    check(run(target, strettos, program), target, strettos)


FORTRAN = """\
      program sums
      include 'mpif.h'
      integer ierr, rank, in(1000), out(1000)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      in(1000) = rank + 1
      call MPI_ALLREDUCE(in, out, 1000, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
      if (rank .eq. 0 .and. out(1000) .eq. 3) write (*, '(A)') 'right'
      call MPI_FINALIZE(ierr)
      end
"""


@pytest.mark.parametrize("strettos", [("abi",), ABIS, ABIS[::-1]], ids="-".join)
def test_fortran_by_the_standard_abi(strettos: Sequence[str], tmp_path: Path) -> None:
    """Intel MPI has a layer for Fortran over its library of the standard ABI."""
    target = Library("intelmpi", "abi")
    prefix = mpi.find_install(target.install).launcher.prefix
    source = tmp_path / "sums.f"
    source.write_text(FORTRAN)
    flags = ["-std=legacy", "-ffixed-line-length-none", f"-I{prefix}/include", f"-L{prefix}/lib"]
    program = tmp_path / "sums"
    command = ["gfortran", *flags, str(source), "-o", str(program), "-lmpifort_abi", "-lmpi_abi"]
    subprocess.run(command, check=True, capture_output=True)
    ran = run(target, strettos, [str(program)])
    assert "Relink" not in ran.output
    check(ran, target, strettos)


@pytest.mark.parametrize("strettos", [ABIS, ABIS[::-1]], ids="-".join)
@pytest.mark.parametrize("target", [one for one in LIBRARIES if one.abi != "openmpi"], ids=str)
def test_a_library_that_is_bound_at_once(
    target: Library, strettos: Sequence[str], programs: Programs
) -> None:
    """The linker would warn of symbols that are indirect before Stretto is relocated."""
    ran = run(target, strettos, [str(programs.bound_at_once(target.abi))])
    assert "Relink" not in ran.output
    check(ran, target, strettos)


@pytest.mark.parametrize("strettos", [*((abi,) for abi in ABIS), ABIS, ABIS[::-1]], ids="-".join)
def test_a_program_that_looks_for_functions(strettos: Sequence[str]) -> None:
    """mpi4py's wheel, opened late. Open MPI has no large counts, and mpi4py must not find any."""
    target = Library("openmpi", "openmpi")
    calls = "MPI.COMM_WORLD.allgather(1); MPI.COMM_WORLD.bcast(b'x' * 10000)"
    program = f"from mpi4py import MPI; {calls}; MPI.COMM_WORLD.rank or print('right')"
    settings = ["env", f"MPI4PY_LIBMPI={target.path()}", sys.executable, "-c", program]
    check(run(target, strettos, settings), target, strettos)
