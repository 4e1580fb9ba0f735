# SPDX-License-Identifier: Apache-2.0
"""How the preload gets into programs, what it says there, and what its settings do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from stretto.paths import library

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = ROOT / "tests" / "interpose"
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}


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
        """A program or a shared object; made once."""
        out = self.folder / (Path(source).stem + ".exe")
        compiler = "mpicc" if source.endswith(".c") else "mpicxx"
        if not out.exists():
            standard = [] if source.endswith(".c") else ["-std=c++20", "-I", str(ROOT / "src")]
            argv = [f"{compiler}.{self.abi}", *standard, str(PROGRAMS / source), "-o", str(out), *flags]
            subprocess.run(argv, check=True, capture_output=True)
        return out

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
        **settings: str,
    ) -> Ran:
        """Runs the probe, or another program. `second`: what is different on rank 1."""
        program = program or [str(self.compiled("probe.cpp"))]
        values = {"LD_PRELOAD": str(preload or library(self.abi)), **settings, **(more or {})}
        argv = [f"mpirun.{self.abi}"]
        if self.abi == "openmpi":
            argv += ["--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader"]
            argv += ["--mca", "mpi_yield_when_idle", "1"]
        if second is None:
            argv += [*self.variables(values), "-n", str(ranks), *program]
        else:
            argv += [*self.variables(values), "-n", "1", *program, ":"]
            argv += [*self.variables({**values, **second}), "-n", str(ranks - 1), *program]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("STRETTO_")}
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=100, env=clean, errors="replace")
        output = ended.stdout + ended.stderr
        lines = [line for line in output.splitlines() if line.startswith("stretto: ")]
        return Ran(ended.returncode, output, lines)


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(request.param, tmp_path_factory.mktemp(request.param))


def calls(file: Path) -> list[tuple[str, int, int]]:
    report = json.loads(file.read_text())
    assert all(call["seconds"] >= 0 for call in report["calls"])
    reductions = [call for call in report["calls"] if call["collective"] == "allreduce"]
    return sorted((call["spec"], call["calls"], call["bytes"]) for call in reductions)


def test_nothing_is_said_when_all_is_well(mpi: Runner) -> None:
    ran = mpi.run(STRETTO_ALLREDUCE="ring:segments=4")
    assert ran.right, ran.output
    assert ran.lines == []


def test_statistics(mpi: Runner, tmp_path: Path) -> None:
    ran = mpi.run(STRETTO_ALLREDUCE="ring:segments=4", STRETTO_STATS=str(tmp_path / "stats.json"))
    assert ran.right, ran.output
    assert calls(tmp_path / "stats.json") == [("ring:segments=4", 2, 80), ("ring:segments=4", 3, 12000)]
    report = json.loads((tmp_path / "stats.json").read_text())
    assert report["ranks"] == 2
    assert report["nodes"] == 1
    assert {(call["bytes_from"], call["bytes_below"]) for call in report["calls"]} == {(32, 64), (2048, 4096)}


def test_statistics_that_cannot_be_written(mpi: Runner) -> None:
    ran = mpi.run(STRETTO_STATS="/nowhere/at/all.json")
    assert ran.right, ran.output
    assert len(ran.lines) == 1
    assert "/nowhere/at/all.json" in ran.lines[0]


def test_the_built_in_rule_leaves_one_node_to_the_library(mpi: Runner, tmp_path: Path) -> None:
    assert mpi.run(STRETTO_STATS=str(tmp_path / "stats.json")).right
    assert calls(tmp_path / "stats.json") == [("native", 2, 80), ("native", 3, 12000)]


def test_disabled(mpi: Runner, tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    ran = mpi.run(STRETTO_DISABLE="1", STRETTO_ALLREDUCE="ring", STRETTO_STATS=str(file))
    assert ran.right, ran.output
    assert ran.lines == []
    assert not file.exists()


BAD = [
    ("rnig", ["native", "ring", "rabenseifner"]),
    ("ring:segments=0", ["segments", "1"]),
    ("ring:segments=2:segment_bytes=4", ["segments", "segment_bytes"]),
    ("ring:colour=red", ["colour", "segments", "segment_bytes", "window"]),
    ("ring:segments=99999999999999999999", ["32768"]),
    ("ring:", ["segments", "window"]),
]


@pytest.mark.parametrize(("spec", "words"), BAD)
def test_a_bad_spec(mpi: Runner, tmp_path: Path, spec: str, words: list[str]) -> None:
    file = tmp_path / "stats.json"
    ran = mpi.run(STRETTO_ALLREDUCE=spec, STRETTO_STATS=str(file))
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert spec in ran.lines[0]
    assert all(word in ran.lines[0] for word in words), ran.lines[0]
    assert {spec for spec, _, _ in calls(file)} == {"native"}


MISFITS = [
    ("multilane", {"STRETTO_TOPOLOGY": "nodes=2,ppn=1"}, "multilane"),
    ("nap", {"STRETTO_TOPOLOGY": "nodes=2,ppn=1"}, "nap"),
    ("knomial:radix=0", {}, "radix"),
    ("ring", {"STRETTO_TOPOLOGY": "nodes=3,ppn=3"}, "STRETTO_TOPOLOGY has 9 rank"),
]


@pytest.mark.parametrize(("spec", "more", "word"), MISFITS)
def test_what_does_not_fit_is_said_once(mpi: Runner, spec: str, more: dict[str, str], word: str) -> None:
    ran = mpi.run(more=more, STRETTO_ALLREDUCE=spec)
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert word in ran.lines[0]


def test_a_bad_spec_when_strict(mpi: Runner) -> None:
    ran = mpi.run(STRETTO_ALLREDUCE="rnig", STRETTO_STRICT="1")
    assert ran.code != 0
    assert "right" not in ran.output.splitlines()
    assert len(ran.lines) == 1, ran.output


@pytest.mark.parametrize("name", ["STRETTO_ALREDUCE", "STRETTO_X"])
def test_an_unknown_setting(mpi: Runner, name: str) -> None:
    ran = mpi.run(more={name: "ring"})
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert name in ran.lines[0]
    assert "STRETTO_ALLREDUCE" in ran.lines[0]


def test_a_switch_that_is_no_switch(mpi: Runner) -> None:
    ran = mpi.run(STRETTO_DISABLE="yes")
    assert ran.right, ran.output
    assert len(ran.lines) == 1
    assert 'STRETTO_DISABLE: must be 0 or 1, not "yes"' in ran.lines[0]


@pytest.mark.parametrize("other", ["rabenseifner", "native", "rnig"])
def test_rank_0s_settings_count(mpi: Runner, tmp_path: Path, other: str) -> None:
    file = tmp_path / "stats.json"
    ran = mpi.run(
        STRETTO_ALLREDUCE="ring",
        STRETTO_STATS=str(file),
        second={"STRETTO_ALLREDUCE": other, "STRETTO_DISABLE": "1"},
    )
    assert ran.right, ran.output
    assert ran.lines == []
    assert {spec for spec, _, _ in calls(file)} == {"ring"}


def test_an_operation_that_does_not_fit(mpi: Runner) -> None:
    ran = mpi.run([str(mpi.compiled("user_ops.cpp"))], ranks=3, STRETTO_ALLREDUCE="ring")
    assert ran.code == 0, ran.output
    assert len(ran.lines) == 1, ran.output
    assert '"ring"' in ran.lines[0]
    assert "rank order" in ran.lines[0]


def test_children(mpi: Runner) -> None:
    ran = mpi.run([str(mpi.compiled("probe.cpp")), "children"], STRETTO_ALLREDUCE="ring")
    assert ran.right, ran.output
    assert ran.lines == []


def test_the_wrong_interface(mpi: Runner) -> None:
    ran = mpi.run(preload=library(OTHER[mpi.abi]), STRETTO_ALLREDUCE="ring")
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert f"preload the one for {mpi.abi}" in ran.lines[0]


def test_the_wrong_interface_when_strict(mpi: Runner) -> None:
    ran = mpi.run(preload=library(OTHER[mpi.abi]), STRETTO_STRICT="1")
    assert ran.code != 0
    assert len(ran.lines) == 1, ran.output


@pytest.mark.parametrize(("spec", "seen"), [("native", 5), ("ring", 0), ("native:segments=2", 0)])
def test_another_tool_sees_what_the_library_does(mpi: Runner, spec: str, seen: int) -> None:
    tool = mpi.compiled("counting_tool.c", "-shared", "-fPIC")
    ran = mpi.run(preload=f"{library(mpi.abi)}:{tool}", STRETTO_ALLREDUCE=spec)
    assert ran.right, ran.output
    assert f"the tool saw {seen}\n" in ran.output


def test_a_tool_before_stretto(mpi: Runner) -> None:
    # It calls PMPI itself, so that Stretto sees no allreduce and no end; that must do no harm.
    tool = mpi.compiled("counting_tool.c", "-shared", "-fPIC")
    ran = mpi.run(preload=f"{tool}:{library(mpi.abi)}", STRETTO_ALLREDUCE="ring")
    assert ran.right, ran.output
    assert "the tool saw 5\n" in ran.output


@pytest.mark.parametrize(
    "program", [["/bin/true"], ["sh", "-c", "ls / >/dev/null"], [sys.executable, "-c", "pass"]]
)
def test_programs_without_mpi(mpi: Runner, program: list[str]) -> None:
    for binding in ({}, {"LD_BIND_NOW": "1"}):
        environment = {**os.environ, "LD_PRELOAD": str(library(mpi.abi)), **binding}
        ended = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


MPI4PY = """
import array
from mpi4py import MPI
comm = MPI.COMM_WORLD.Dup()
total = array.array("d", [comm.rank + 1.0] * 5000)
comm.Allreduce(MPI.IN_PLACE, total, MPI.SUM)
assert list(total) == [comm.size * (comm.size + 1) / 2] * 5000, total[:5]
assert comm.allreduce(comm.rank) == comm.size * (comm.size - 1) // 2
if comm.rank == 0: print("right")
"""


def test_python_that_loads_its_mpi_by_itself(mpi: Runner, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(MPI4PY)
    file = tmp_path / "stats.json"
    # Debian calls MPICH's library libmpich; mpi4py asks for the name that everybody else gives it.
    if mpi.abi == "mpich":
        linked = subprocess.run(
            ["ldd", mpi.compiled("probe.cpp")], check=True, capture_output=True, text=True
        )
        paths = [line.split()[2] for line in linked.stdout.splitlines() if line.strip().startswith("libmpi")]
        (tmp_path / "libmpi.so.12").symlink_to(paths[0])
    ran = mpi.run(
        [sys.executable, str(program)],
        LD_LIBRARY_PATH=str(tmp_path),
        STRETTO_ALLREDUCE="ring",
        STRETTO_STATS=str(file),
        MPI4PY_MPIABI=mpi.abi,
    )
    assert ran.right, ran.output
    assert ran.lines == []
    assert ("ring", 1, 40000) in calls(file)


def test_what_the_shared_object_shows_and_needs(mpi: Runner) -> None:
    path = library(mpi.abi)
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    assert {"MPI_Allreduce", "MPI_Init", "MPI_Init_thread", "MPI_Finalize"} <= names
    # Where the library has none of it, a program must not find it either.
    assert ("MPI_Allreduce_c" in names) == (mpi.abi == "mpich")
    assert {"stretto_allreduce", "stretto_choice", "stretto_version"} <= names
    assert {name for name in names if not name.startswith(("MPI_", "stretto_"))} == set()
    needed = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
    libraries = [line for line in needed.splitlines() if "NEEDED" in line]
    assert libraries
    assert not [line for line in libraries if any(n in line for n in ("mpi", "stdc++", "libgcc", "cuda"))]
    undefined = subprocess.run(
        ["nm", "-D", "--undefined-only", path], check=True, capture_output=True, text=True
    )
    assert "MPI_" not in undefined.stdout
    assert "ompi_" not in undefined.stdout
