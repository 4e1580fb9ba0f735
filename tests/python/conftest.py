# SPDX-License-Identifier: Apache-2.0
"""Runs the small programs of tests/interpose with Stretto preloaded, with each MPI library."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stretto.support.paths import library

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = ROOT / "tests" / "interpose"
SECONDS = 100
# Open MPI's C++ bindings make every program refer to MPI_Op_create.
CXX_FLAGS = ["-std=c++20", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]


@dataclass(frozen=True)
class Ran:
    code: int
    output: str
    lines: list[str]  # of Stretto

    @property
    def right(self) -> bool:
        return self.code == 0 and "right" in self.output.splitlines()


@dataclass(frozen=True)
class Runner:
    abi: str
    folder: Path

    def compiled(self, source: str, *flags: str) -> Path:
        """Returns a program or a shared object, which is compiled once."""
        out = self.folder / ("".join([Path(source).stem, *flags]).replace("/", "_") + ".exe")
        compiler = "mpicc" if source.endswith(".c") else "mpicxx"
        if not out.exists():
            standard = [] if source.endswith(".c") else [*CXX_FLAGS, "-I", str(ROOT / "src")]
            argv = [f"{compiler}.{self.abi}", *standard, str(PROGRAMS / source), "-o", str(out), *flags]
            subprocess.run(argv, check=True, capture_output=True)
        return out

    def told_that_cores_are(self, what: str) -> dict[str, Any]:
        """Returns settings for `run` by which ranks find that their cores are `idle` or `busy`."""
        tool = self.compiled("core_time_tool.c", "-shared", "-fPIC", "-ldl")
        return {"preload": f"{library()}:{tool}", "CORE_TIME": what}

    def variables(self, values: dict[str, str]) -> list[str]:
        if self.abi == "openmpi":
            return [word for name, value in values.items() for word in ("-x", f"{name}={value}")]
        return [word for name, value in values.items() for word in ("-env", name, value)]

    def run(
        self,
        program: list[str] | None = None,
        preload: Path | str | None = None,
        ranks: int = 2,
        second: dict[str, str] | None = None,
        more: dict[str, str] | None = None,
        options: Sequence[str] = (),
        under: Sequence[str] = (),
        btl: str = "self,vader",
        **settings: str,
    ) -> Ran:
        """Runs the probe, or another program. `second`: variables that differ on all ranks but rank 0.

        `options` are the launcher's; `under` is a command that runs the launcher. `btl` is Open MPI's.
        """
        program = program or [str(self.compiled("probe.cpp"))]
        # The preloads of this process make MPICH's ranks yield (tests/conftest.py).
        preloads = f"{preload or library()}:{os.environ['LD_PRELOAD']}"
        # The findings of one job must not affect the next, unless a test says so. And Stretto carries out
        # the first calls on any communicator.
        auditor = str(library().with_name("libstretto-audit.so"))
        values = {
            "LD_PRELOAD": preloads,
            "LD_AUDIT": auditor,
            "STRETTO_FABRIC": "none",
            "_STRETTO_YOUTH": "0",
            **settings,
        }
        values |= more or {}
        argv = [*under, f"mpirun.{self.abi}"]
        if self.abi == "openmpi":
            argv += ["--allow-run-as-root", "--oversubscribe", "--mca", "btl", btl]
            argv += ["--mca", "mpi_yield_when_idle", "1"]
        argv += options
        if second is None:
            argv += [*self.variables(values), "-n", str(ranks), *program]
        else:
            argv += [*self.variables(values), "-n", "1", *program, ":"]
            argv += [*self.variables({**values, **second}), "-n", str(ranks - 1), *program]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO_")}
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=clean,
        )
        try:
            output = "".join(process.communicate(timeout=SECONDS))
        except subprocess.TimeoutExpired:
            # A launcher ends its ranks if it is terminated, but not if it is killed.
            process.terminate()
            output = "".join(process.communicate())
            pytest.fail(f"{' '.join(argv)} took more than {SECONDS} s:\n{output[-4000:]}")
        lines = [line for line in output.splitlines() if line.startswith("stretto: ")]
        return Ran(process.returncode, output, lines)


@dataclass(frozen=True)
class MeasuringProgram:
    """A script that takes the place of the measuring program. The test says what the script does."""

    folder: Path

    def let_run(self, script: str) -> None:
        """Let the program run a shell script, in which $HERE is this folder."""
        here = f"HERE={shlex.quote(str(self.folder))}"
        file = self.folder / "stretto-bench"
        file.write_text(f"#!/bin/sh\n{here}\n{script}\n", encoding="utf-8")
        file.chmod(0o755)

    def let_print(self, *events: dict[str, Any], then: str = "exit 0") -> None:
        """Let the program print events, and then run shell commands."""
        lines = [shlex.quote(json.dumps(event, separators=(",", ":"))) for event in events]
        said = "".join(f"echo {line}\n" for line in lines)
        self.let_run(f'echo "$@" >$HERE/arguments\nenv >$HERE/environment\n{said}{then}')

    @property
    def arguments(self) -> str:
        """The arguments with which the program was started."""
        return (self.folder / "arguments").read_text(encoding="utf-8")

    @property
    def environment(self) -> str:
        return (self.folder / "environment").read_text(encoding="utf-8")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MeasuringProgram:
    """Takes the place of the measuring program in this process and in its children."""
    folder = tmp_path / "lib"
    folder.mkdir()
    monkeypatch.setenv("STRETTO_LIB_DIR", str(folder))
    made = MeasuringProgram(folder)
    made.let_run("exit 0")
    return made


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(request.param, tmp_path_factory.mktemp(request.param))
