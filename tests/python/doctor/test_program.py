# SPDX-License-Identifier: Apache-2.0
"""`stretto doctor -- PROGRAM`: whether the calls of a program will reach Stretto."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto.cli.main import app
from stretto.doctor.checks import Finding, Verdict
from stretto.doctor.program import examine_program
from stretto.support.errors import StrettoError

SERVED = Finding(Verdict.GOOD, "calls past a preload", "served: RTLD_DEEPBIND, dlsym in a library")


def compiled(out: Path, compiler: str, *options: str) -> str:
    code = "int MPI_Init(int*, char***); int main(void) { return MPI_Init(0, 0); }"
    if not compiler.startswith("mpi"):
        code = "int main(void) { return 0; }"
    subprocess.run([compiler, "-xc", "-", "-o", out, *options], input=code, text=True, check=True)
    return str(out)


@pytest.mark.parametrize(("abi", "name"), [("openmpi", "Open MPI's"), ("mpich", "MPICH's")])
@pytest.mark.parametrize("launched", [False, True])
def test_a_program_of_mpi(abi: str, name: str, launched: bool, tmp_path: Path) -> None:
    program = compiled(tmp_path / "program", f"mpicc.{abi}")
    line = [f"mpirun.{abi}", "-np", "2", program] if launched else [program]
    under, library, calls = examine_program(line, os.environ)
    assert under == Finding(Verdict.GOOD, program, "Stretto can be preloaded")
    assert library.verdict is Verdict.GOOD
    assert library.detail.endswith(f", which has {name} binary interface")
    assert calls == SERVED


def test_an_interpreter() -> None:
    _, library, calls = examine_program([sys.executable, "train.py"], os.environ)
    assert library.verdict is Verdict.ABSENT
    assert "the one that it opens" in library.detail
    assert calls == SERVED


def test_a_library_that_is_not_found(tmp_path: Path) -> None:
    library = tmp_path / "libmpi_abi.so.9"
    subprocess.run(
        ["cc", "-shared", "-xc", "/dev/null", f"-Wl,-soname,{library.name}", "-o", library], check=True
    )
    program = compiled(tmp_path / "program", "cc", "-Wl,--no-as-needed", "-xnone", str(library))
    library.unlink()
    _, found, _ = examine_program([program], os.environ)
    assert found.verdict is Verdict.BAD
    assert found.detail == "libmpi_abi.so.9 is not found; set LD_LIBRARY_PATH to its folder"


def test_a_static_program(tmp_path: Path) -> None:
    program = compiled(tmp_path / "program", "cc", "-static")
    (finding,) = examine_program([program], os.environ)
    assert finding.verdict is Verdict.BAD
    assert finding.detail == "runs without Stretto: it is linked statically; link libstretto into it"


def test_no_program() -> None:
    with pytest.raises(StrettoError, match=r"no program was found after mpirun\.openmpi"):
        examine_program(["mpirun.openmpi", "-np", "2"], os.environ)


def test_the_command(tmp_path: Path) -> None:
    program = compiled(tmp_path / "program", "cc", "-static")
    shown = CliRunner().invoke(app, ["doctor", "--json", "--", program])
    assert shown.exit_code == 1, shown.output
    report = json.loads(shown.stdout)
    assert report["format"] == "stretto-doctor-program"
    assert [finding["verdict"] for finding in report["findings"]] == ["bad"]
    assert CliRunner().invoke(app, ["doctor", "--", "sh"]).exit_code == 0
