# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import pytest
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from stretto import _core
from stretto.bench.job import Ready
from stretto.bench.targets import Target
from stretto.cli import main as cli
from stretto.results.runs import Run, Series
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.labels import STRETTO, Kind, kind_of
from stretto.spec.native import NATIVE
from stretto.studies.file import Study, StudyRun, parse_study
from stretto.support.errors import StrettoError
from stretto.support.interruption import Terminated
from stretto_research.study.runs import Clock, Settings, library_algorithms, measure_run
from stretto_research.study.specs import candidates
from stretto_research.study.table import gains_table, notes, ranking_table

ALLREDUCE = COLLECTIVES["allreduce"]
FILE = Path("study.json")


def make_series(size: int, spec: str, seconds: list[float], chosen: str | None = None) -> Series:
    return Series(size, False, spec, chosen or spec, 1, seconds, True)


def make_run(series: list[Series], nodes: int = 8) -> Run:
    return Run(ALLREDUCE, 0, "Open MPI v4.1.4", "0.1.0", 8, nodes, [8 // nodes] * nodes, "float", series)


@pytest.mark.parametrize("collective", COLLECTIVES.values(), ids=list(COLLECTIVES))
@pytest.mark.parametrize("ppn", [[4], [1] * 8, [2] * 4, [4, 4, 1]])
def test_candidates_are_of_use_where_they_run(collective: Any, ppn: list[int]) -> None:
    found = candidates(collective.algorithms, ppn, ["linear"])
    assert found[:2] == [NATIVE, STRETTO]
    assert len(set(found)) == len(found)
    assert {kind_of(spec) for spec in found} >= {
        Kind.NATIVE,
        Kind.STRETTO,
        Kind.LIBRARY,
        Kind.PIPELINING,
        # If ranks do not know the size, no algorithm is for short or for long messages only.
        *(() if _core.is_never_cut(collective.algorithms) and collective.has_message else (Kind.OWN,)),
    }
    topology = _core.Topology(f"ppn={'+'.join(map(str, ppn))}")
    for spec in found:
        if kind_of(spec) == Kind.OWN:
            recipe = _core.parse_spec(spec, collective.algorithms).recipe
            assert _core.why_unsupported(collective.algorithms, recipe, topology) == ""


def test_own_specs_may_be_given() -> None:
    found = candidates("allreduce", [1, 1], own=["ring", "swing"])
    assert [spec for spec in found if kind_of(spec) == Kind.OWN] == ["ring", "swing"]


times = st.lists(st.floats(1e-6, 10), min_size=5, max_size=5)


def text_of(study: Study) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        for run in study.runs:
            gains_table(run).print(console)
        ranking_table(study.runs).print(console)
    return capture.get()


def test_the_tables(samples: Path) -> None:
    study = parse_study(json.loads((samples / "study.json").read_text()), FILE)
    lines = [" ".join(line.split()) for line in text_of(study).splitlines()]
    assert "MPI_Allreduce of float, Open MPI 4.1.4, 8 ranks on 8 nodes" in lines
    row = next(line for line in lines if line.startswith("16 MiB 2.397 s"))
    assert "native(ring) 1.67 NBLx4 1.25" in row
    assert "ring:segment_bytes=256KiB 2.08 ring:segment_bytes=256KiB 2.00" in row
    assert row.endswith("%")  # of the bound
    assert "mean 1.67 1.25 2.08 2.00" in lines
    assert any(line.startswith("16 MiB MPI default 2.397 s 2. 2.179 s 1.") for line in lines)


def test_the_notes_say_what_is_missing(samples: Path) -> None:
    study = parse_study(json.loads((samples / "study.json").read_text()), FILE)
    study.runs[0].incomplete = "the program ended"
    lines = list(notes(study))
    assert "Open MPI 4.1.4: the budget was too short for 64 MiB; give a larger --budget" in lines
    assert "Open MPI 4.1.4: not all was measured: the program ended" in lines
    assert "intelmpi: nothing was measured: it was not found" in lines
    assert any(line.startswith("bound: links of 200mbit") for line in lines)


def test_a_budget_that_is_spent_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 101.5)
    with pytest.raises(StrettoError, match=r"--budget 2 s is too short: 0\.5 s are left for 1 more"):
        Clock(2, begin=100).share(1)
    assert Clock(600, begin=100).share(3) == pytest.approx(199.5)


@pytest.mark.parametrize(("by_launch", "found"), [(False, ["linear", "nonoverlapping"]), (True, [])])
def test_which_algorithms_of_the_library_are_in_a_study(by_launch: bool, found: list[str]) -> None:
    names = {"blocking": ["linear", "nonoverlapping", "k_reduce_scatter", "two_proc"]}
    ready = Ready("Open MPI v4.1.4", 8, 8, [1] * 8, {"allreduce": names}, by_launch, "0.1.0")
    assert library_algorithms(ready, COLLECTIVES["allreduce"]) == found
    assert library_algorithms(ready, COLLECTIVES["bcast"]) == []


START = {
    "event": "start", "collective": "allreduce", "root": 0,
    "library": "Open MPI v4.1.4", "ranks": 2, "nodes": 1, "ppn": [2], "type": "float", "stretto": "0.1.0",
}  # fmt: skip
RESULT = {
    "event": "result", "bytes": 1024, "in_place": False, "spec": "native", "mockup": "", "chosen": "native",
    "inner": 1, "seconds": [1.0] * 6, "correct": True,
}  # fmt: skip


def target_that_prints(*events: dict[str, Any], end: str = "") -> Target:
    lines = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events)
    code = f"import os, signal; print({lines!r}, end='', flush=True); {end}"

    @contextmanager
    def start(program: list[str], stdin: int = DEVNULL) -> Iterator[Popen[str]]:
        assert program
        with Popen([sys.executable, "-c", code], stdin=stdin, stdout=PIPE, text=True) as process:
            yield process

    return Target("openmpi", start)


SETTINGS = Settings([1024, 4096], 5, 1, None)


def ignore(_done: float, _total: float) -> None:
    pass


def test_what_was_measured_before_a_failure_is_kept() -> None:
    kept: list[StudyRun] = []
    measure_run(target_that_prints(START, RESULT), [], SETTINGS, ignore, kept.append)
    assert [run.run.series[0].seconds for run in kept] == [[1.0] * 6]
    assert kept[0].incomplete.startswith("the measuring program ended before its last result")


def test_what_was_measured_before_an_interruption_is_kept() -> None:
    def interrupt(_done: float, _total: float) -> None:
        raise Terminated(15)

    kept: list[StudyRun] = []
    target = target_that_prints(START, RESULT, {"event": "progress", "done": 1, "total": 2})
    with pytest.raises(Terminated):
        measure_run(target, [], SETTINGS, interrupt, kept.append)
    assert [run.incomplete for run in kept] == ["it was interrupted"]


def test_a_failure_before_the_first_result_is_an_error() -> None:
    with pytest.raises(StrettoError, match="no such thing"):
        measure_run(
            target_that_prints(START, {"event": "error", "message": "no such thing"}),
            [],
            SETTINGS,
            ignore,
            lambda _run: pytest.fail("there was nothing to keep"),
        )


def test_wrong_results_are_not_kept() -> None:
    target = target_that_prints(
        START, RESULT | {"correct": False}, {"event": "end"}, end="raise SystemExit(1)"
    )
    with pytest.raises(StrettoError, match="WRONG RESULTS of native at 1024 bytes"):
        measure_run(target, [], SETTINGS, ignore, lambda _run: pytest.fail("they were kept"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["barrier"], "barrier: expected one of allreduce, bcast"),
        (["--lab", "--", "mpirun"], "give --lab or -- LAUNCHER, not both"),
        (["--mpi", "openmpi,mpich", "--", "mpirun"], "a launcher belongs to one MPI"),
        (["--guidelines", "--specs", "ring"], "--specs: --guidelines checks only what"),
        (["--specs", "rign"], "rign"),
        (["--specs", "ring,,swing"], "with single commas between"),
        (["--budget", "soon"], "'soon' is not a time"),
        (["--budget", "1us"], "--budget 1 µs is too short"),
        (["--sizes", "big"], "'big' is not a size"),
        (["--mpi", "lam"], "--mpi lam: there is no such MPI"),
        (["--output", "/dev/null/x"], "--output /dev/null/x: Not a directory"),
        (["--lab", "--lab-name", "stretto-nowhere"], "stretto-nowhere is up"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    output = [] if "--output" in arguments else ["--output", str(tmp_path)]
    result = CliRunner().invoke(cli.app, ["study", *output, *arguments])
    assert result.exit_code == 2
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("stretto: ")
    assert message in lines[0]


def test_a_study_of_this_machine(tmp_path: Path) -> None:
    arguments = ["--np", "2", "--sizes", "1KiB,64KiB", "--specs", "ring", "--repetitions", "5"]
    arguments += ["--budget", "20m", "--mpi", "openmpi,lam", "--output", str(tmp_path)]
    result = CliRunner().invoke(cli.app, ["study", *arguments])
    assert result.exit_code == 1  # of what there is no such MPI
    assert "MPI_Allreduce of float, Open MPI" in result.stdout
    assert "lam: nothing was measured: --mpi lam: there is no such MPI" in result.stdout
    study = parse_study(json.loads((tmp_path / "study.json").read_text()), FILE)
    (run,) = study.runs
    assert [size.bytes for size in run.sizes] == [1024, 65536]
    specs = list(dict.fromkeys(series.spec for series in run.run.series))
    assert "native(ring)" in specs
    others = [spec for spec in specs if kind_of(spec) != Kind.LIBRARY]
    assert others == [NATIVE, STRETTO, *(f"native:segments={count}" for count in (1, 2, 4, 8)), "ring"]
    assert all(series.correct for series in run.run.series)
    written = {file.name for file in tmp_path.iterdir()}
    name = f"allreduce-{run.name.lower().replace(' ', '-')}"
    figures = {f"{name}-{kind}.png" for kind in ("library", "pipelining", "stretto")}
    assert written == {"study.json", *figures}


def test_a_launcher_of_the_users_own(tmp_path: Path) -> None:
    arguments = [
        "bcast",
        "--sizes",
        "4KiB,1MiB",
        "--specs",
        "binomial",
        "--repetitions",
        "5",
        "--budget",
        "2m",
    ]
    launcher = ["--", "mpirun.mpich", "-np", "2"]
    result = CliRunner().invoke(cli.app, ["study", *arguments, "--output", str(tmp_path), *launcher])
    assert result.exit_code == 0
    study = parse_study(json.loads((tmp_path / "study.json").read_text()), FILE)
    assert study.where == "started by mpirun.mpich -np 2"
    assert study.runs[0].run.collective.name == "bcast"
    assert [size.bytes for size in study.runs[0].sizes] == [4096, 1 << 20]
