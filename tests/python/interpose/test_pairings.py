# SPDX-License-Identifier: Apache-2.0
"""The same Stretto with every MPI library, which it finds when the process has loaded it."""

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
from stretto.support.paths import library

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "tests" / "interpose"
FLAGS = ["-std=c++20", "-O1", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]


@dataclass(frozen=True)
class Library:
    """An MPI library, as a program is built for it."""

    install: str
    """The name of the library for `--mpi`."""
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
        # Debian's MPICH has another name.
        name = "libmpich.so.12" if self.install == "mpich" else self.soname
        found = mpi.find_library_below(install.launcher.prefix, name)
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
        self._build("cc", PROGRAMS / "opens_late.c", out)
        return out

    def by_pointer(self, abi: str, *options: str) -> Path:
        """A module that calls some functions by their addresses, or with -fno-plt all."""
        out = self.folder / f"by-pointer-{abi}{''.join(options)}.so"
        self._build(self.compiler(abi), PROGRAMS / "waits_by_pointer.c", out, "-shared", "-fPIC", *options)
        return out

    def by_handle(self, abi: str) -> Path:
        """A program that opens the library and looks up each function in it."""
        out = self.folder / f"by-handle-{abi}"
        self._build(self.compiler(abi), PROGRAMS / "by_handle.c", out, "-Wl,--as-needed")
        return out

    def translated(self, abi: str) -> tuple[Path, Path]:
        """A program of a library that translates, and this library's wrapper of an MPI library."""
        source = PROGRAMS / "translator.c"
        wrapper = self.folder / f"wrapper-{abi}.so"
        self._build(self.compiler(abi), source, wrapper, "-DWRAPPER", "-shared", "-fPIC")
        translator = self.folder / "libtranslator.so"
        self._build("cc", source, translator, "-DLIBRARY", "-shared", "-fPIC")
        program = self.folder / "translated"
        self._build("cc", source, program, str(translator), f"-Wl,-rpath,{self.folder}")
        return program, wrapper

    def bound_at_once(self, abi: str) -> Path:
        """A program with a library that needs functions with large counts as soon as it is loaded."""
        out = self.folder / f"bound-{abi}"
        if not out.exists():
            compiler = self.compiler(abi)
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

    def compiler(self, abi: str) -> str:
        """The C compiler wrapper of a binary interface."""
        return str(self.standard_compiler("mpicc_abi")) if abi == "abi" else f"mpicc.{abi}"

    @staticmethod
    def standard_compiler(name: str) -> Path:
        """A compiler wrapper for the standard ABI."""
        return mpi.find_install("mpich5").launcher.path.with_name(name)

    @staticmethod
    def _build(compiler: str, source: Path, out: Path, *options: str) -> None:
        if not out.exists():
            command = [compiler, str(source), "-o", str(out), *options, "-Wl,--enable-new-dtags", "-ldl"]
            subprocess.run(command, check=True, capture_output=True)

    def _compile(self, compiler: str, body: str, out: Path, *options: str) -> None:
        source = self.folder / f"{out.name}.c"
        source.write_text(body)
        self._build(compiler, source, out, *options)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("pairings"))


@dataclass(frozen=True)
class Ran:
    code: int
    output: str

    @property
    def lines(self) -> list[str]:
        """Stretto's lines except for the summary."""
        lines = [line for line in self.output.splitlines() if line.startswith("stretto: ")]
        return [line for line in lines if " on rank 0" not in line]

    @property
    def served(self) -> bool:
        """Whether Stretto carried out all collectives that were counted."""
        return "by Stretto and 0 by" in self.output


def run(target: Library, program: Sequence[str], *, audited: bool = True) -> Ran:
    """Runs the program on two ranks with Stretto preloaded. `audited`: as `stretto run` does it."""
    install = mpi.find_install(target.install)
    variables = {
        "LD_PRELOAD": f"{library()}:{os.environ['LD_PRELOAD']}",
        **({"LD_AUDIT": str(library().with_name("libstretto-audit.so"))} if audited else {}),
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


def check(ran: Ran) -> None:
    assert ran.code == 0, ran.output
    assert "right" in ran.output.splitlines(), ran.output
    assert ran.lines == [], ran.output
    assert ran.served, ran.output


every_library = pytest.mark.parametrize("target", LIBRARIES, ids=str)


@every_library
def test_every_library(target: Library, programs: Programs) -> None:
    check(run(target, [str(programs.of(target.abi))]))


@every_library
def test_a_library_that_is_opened_late(target: Library, programs: Programs) -> None:
    check(run(target, [str(programs.opener()), str(programs.of(target.abi, module=True))]))


@every_library
def test_what_is_bound_to_its_own_libraries(target: Library, programs: Programs) -> None:
    """RTLD_DEEPBIND lets a module bypass preloaded objects."""
    check(run(target, [str(programs.opener()), "--deepbind", str(programs.of(target.abi, module=True))]))


@every_library
@pytest.mark.parametrize("bound", ["late", "deepbind"])
@pytest.mark.parametrize("options", [[], ["-fno-plt"]], ids=["some", "all"])
def test_functions_that_are_called_by_their_addresses(
    target: Library, options: list[str], bound: str, programs: Programs
) -> None:
    """Auditors do not see calls by pointers. Either all calls of the module reach Stretto, or none."""
    module = str(programs.by_pointer(target.abi, *options))
    if bound == "late":
        check(run(target, [str(programs.opener()), module]))
        return
    ran = run(target, [str(programs.opener()), "--deepbind", module])
    assert (ran.code, ran.output.splitlines()[0]) == (0, "right"), ran.output
    (line,) = ran.lines
    assert "reached Stretto" in line


@every_library
@pytest.mark.parametrize("opened", ["local", "global", "deepbind"])
def test_functions_that_are_looked_up_in_the_library(
    target: Library, opened: str, programs: Programs
) -> None:
    ran = run(target, [str(programs.by_handle(target.abi)), str(target.path()), opened])
    check(ran)


@every_library
def test_a_library_that_translates(target: Library, programs: Programs) -> None:
    """Stretto does not intercept the program's calls, but the translator's calls of the MPI library."""
    program, wrapper = programs.translated(target.abi)
    check(run(target, ["env", f"TRANSLATOR_WRAPPER={wrapper}", str(program)]))


@every_library
def test_calls_that_pass_by_are_told(target: Library, programs: Programs) -> None:
    """Without an auditor, as with a linker whose audit would slow calls down (glibc before 2.35)."""
    module = programs.of(target.abi, module=True)
    ran = run(target, [str(programs.opener()), "--deepbind", str(module)], audited=False)
    assert ran.code == 0, ran.output
    (line,) = ran.lines
    assert "reached Stretto: it was opened with RTLD_DEEPBIND" in line
    assert target.soname.split(".so")[0] in line


two_libraries = pytest.mark.parametrize(
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


@two_libraries
def test_two_libraries(target: Library, other: Library, programs: Programs) -> None:
    """The other one is loaded, and never called."""
    check(run(target, [str(programs.of(target.abi)), "beside", str(other.path())]))


@two_libraries
def test_another_library_behind_one_that_looks_past_a_preload(
    target: Library, other: Library, programs: Programs
) -> None:
    """Calls go to the library of their module, not to the library that the linker finds first."""
    module = str(programs.of(target.abi, module=True))
    check(run(target, [str(programs.opener()), "--deepbind", "--then", str(other.path()), module]))


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


def test_fortran_by_the_standard_abi(tmp_path: Path) -> None:
    """Intel MPI has a layer for Fortran over its library of the standard ABI."""
    target = Library("intelmpi", "abi")
    prefix = mpi.find_install(target.install).launcher.prefix
    source = tmp_path / "sums.f"
    source.write_text(FORTRAN)
    flags = ["-std=legacy", "-ffixed-line-length-none", f"-I{prefix}/include", f"-L{prefix}/lib"]
    program = tmp_path / "sums"
    command = ["gfortran", *flags, str(source), "-o", str(program), "-lmpifort_abi", "-lmpi_abi"]
    subprocess.run(command, check=True, capture_output=True)
    ran = run(target, [str(program)])
    assert "Relink" not in ran.output
    check(ran)


@pytest.mark.parametrize("target", [one for one in LIBRARIES if one.abi != "openmpi"], ids=str)
def test_a_library_that_is_bound_at_once(target: Library, programs: Programs) -> None:
    """The linker would warn of symbols that are indirect before Stretto is relocated."""
    ran = run(target, [str(programs.bound_at_once(target.abi))])
    assert "Relink" not in ran.output
    check(ran)


@pytest.mark.parametrize(
    # Debian's MPICH does not have the name that the wheel opens.
    "target",
    [one for one in LIBRARIES if one.abi != "abi" and one.install != "mpich"],
    ids=str,
)
def test_a_program_that_looks_for_functions(target: Library) -> None:
    """mpi4py's wheel, opened late. Open MPI 4 has no large counts, and mpi4py must not find any."""
    calls = "MPI.COMM_WORLD.allgather(1); MPI.COMM_WORLD.bcast(b'x' * 10000)"
    program = f"from mpi4py import MPI; {calls}; MPI.COMM_WORLD.rank or print('right')"
    settings = ["env", f"MPI4PY_LIBMPI={target.path()}", sys.executable, "-c", program]
    check(run(target, settings))
