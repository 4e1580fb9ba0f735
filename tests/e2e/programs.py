# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs of Debian and PyPI: how each is started, and which part of its output is the result.

The tests compare results (test_programs.py), and benchmarks/programs.py compares times.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
INPUTS = Path(__file__).parent / "inputs"
EXAMPLES = ROOT / "examples"
RANKS = 4
JAX = ROOT / ".frameworks" / "jax" / "bin" / "python"


@dataclass(frozen=True)
class Program:
    """A program, and its properties that tests use."""

    name: str
    package: str
    """The package of Debian or PyPI that has the program."""
    command: Sequence[str]
    result: str
    """A pattern of the lines that do not depend on the time."""
    calls: frozenset[str]
    """Collectives that the program certainly calls."""
    mpi: str = "openmpi"
    longer: Mapping[str, str] = field(default_factory=dict)
    """Replacements for words of the command when the time is measured."""
    tolerance: float = 0
    """The relative tolerance, if another order of sums shows in the digits that are printed."""
    variables: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """The paths of files that the program expects in its folder, by name."""
    output: str | None = None
    """The file with its results, if it does not print them."""
    of_one: frozenset[str] = frozenset()
    """Collectives that it also calls on communicators of one rank. These calls are the MPI library's."""
    calls_are_fixed: bool = True
    """Whether all runs make the same calls. False if it iterates until it converges, or measures times."""
    mark: str = "packages"
    """The pytest marker of the environment in which it is installed."""

    def line(self, folder: Path, *, longer: bool = False) -> list[str]:
        """The command of a rank, in a new folder of its own."""
        folder.mkdir()
        for name, source in self.files.items():
            (folder / name).write_bytes(Path(source).read_bytes())
        variables = {"OMP_NUM_THREADS": "1", **self.variables}
        words = [self.longer.get(word, word) for word in self.command] if longer else self.command
        return ["env", "-C", str(folder), *(f"{name}={to}" for name, to in variables.items()), *words]

    def results(self, output: str, folder: Path) -> list[str]:
        """The words of its result."""
        text = (folder / self.output).read_text() if self.output else output
        found = re.findall(self.result, text, re.MULTILINE | re.DOTALL)
        assert found, output[-4000:]
        return re.split(r"[\s,]+", " ".join(found).strip())


def _scalapack(mpi: str) -> Program:
    folder = f"/usr/lib/x86_64-linux-gnu/scalapack/{mpi}-tests"
    return Program(
        name=f"ScaLAPACK ({mpi})",
        package="scalapack-mpi-test",
        command=[f"{folder}/xdqr"],
        files={"QR.dat": f"{folder}/QR.dat"},
        # The program checks each factorization, and counts the tests.
        result=r"^ *\d+ tests [^\n]*",
        calls=frozenset({"allreduce", "bcast", "reduce"}),
        of_one=frozenset({"allreduce"}),
        mpi=mpi,
    )


def _digits(mpi: str) -> Program:
    return Program(
        name=f"mpi4py ({mpi})",
        package="mpi4py, scikit-learn",
        command=[sys.executable, str(EXAMPLES / "train_digits.py"), "--steps", "40"],
        longer={"40": "200"},
        result=r"(?<=accuracy )[\d.]+",
        calls=frozenset({"allreduce"}),
        mpi=mpi,
        # The tolerance is one test image, which may get another class by different last bits.
        tolerance=3.5e-3,
    )


PROGRAMS = [
    Program(
        name="LAMMPS",
        package="lammps",
        command=["lmp", "-in", str(INPUTS / "melt.in"), "-log", "none", "-var", "steps", "150"],
        longer={"150": "1500"},
        result=r"^ *Step .*?(?=^Loop time)",
        calls=frozenset({"allreduce", "bcast", "reduce", "scan"}),
    ),
    Program(
        name="HPC Challenge",
        package="hpcc",
        command=["hpcc"],
        files={"hpccinf.txt": "/usr/share/doc/hpcc/examples/_hpccinf.txt"},
        output="hpccoutf.txt",
        # The results of its checks. All other lines are times.
        result=r"^(?:Success|\w+Procs|HPL_[ABX]norm\w|PTRANS_residual|MPIRandomAccess\w*_Errors)=\S+",
        calls=frozenset({"allreduce", "bcast", "reduce", "alltoall"}),
        calls_are_fixed=False,
    ),
    Program(
        name="Quantum ESPRESSO",
        package="quantum-espresso, quantum-espresso-data",
        command=["pw.x", "-in", str(INPUTS / "aluminium.in")],
        result=r"^! +total energy[^\n]*",
        calls=frozenset({"allreduce", "bcast", "reduce", "alltoall"}),
        calls_are_fixed=False,
        tolerance=1e-8,
    ),
    Program(
        name="NWChem",
        package="nwchem-openmpi",
        command=["nwchem.openmpi", str(INPUTS / "water.nw")],
        result=r"Total SCF energy[^\n]*",
        calls=frozenset({"allreduce", "bcast", "allgather"}),
        of_one=frozenset({"allreduce"}),
        calls_are_fixed=False,
        tolerance=1e-9,
    ),
    Program(
        name="MPB",
        package="mpb-mpi, mpb-doc",
        command=["mpb-mpi", "resolution=32", "/usr/share/doc/mpb/examples/tri-holes.ctl"],
        longer={"resolution=32": "resolution=48"},
        result=r"^t[em]freqs:[^\n]*",
        calls=frozenset({"allreduce", "bcast"}),
        calls_are_fixed=False,
        tolerance=1e-4,
    ),
    _scalapack("openmpi"),
    _scalapack("mpich"),
    Program(
        name="PETSc",
        package="python3-petsc4py, python-petsc4py-doc",
        command=[
            "/usr/bin/python3",
            "/usr/share/doc/python-petsc4py-doc/examples/demo/petsc-examples/ksp/ex2.py",
            *("-m", "100", "-n", "100", "-ksp_rtol", "1e-8"),
        ],
        longer={"100": "300"},
        variables={"PETSC_DIR": str(next(Path("/usr/lib/petscdir").glob("petsc*/*-real"), ""))},
        result=r"^Norm of error[^\n]*",
        calls=frozenset({"allreduce", "bcast"}),
        of_one=frozenset({"allreduce"}),
        calls_are_fixed=False,
        tolerance=1e-4,
    ),
    Program(
        name="Rmpi",
        package="r-cran-rmpi",
        command=["R", "--no-save", "-q", "-s", "-f", str(INPUTS / "pi.R")],
        variables={"R_PROFILE": "/usr/lib/R/site-library/Rmpi/Rprofile"},
        result=r"^\[1\] 3.*?$",
        calls=frozenset({"bcast", "reduce"}),
        tolerance=1e-14,
    ),
    _digits("openmpi"),
    _digits("mpich"),
    Program(
        name="mpi4jax",
        package="mpi4jax, jax",
        command=[str(JAX), str(EXAMPLES / "jax_allreduce.py")],
        result=r"^4 ranks.*?$",
        calls=frozenset({"allreduce"}),
        mark="frameworks",
    ),
]
