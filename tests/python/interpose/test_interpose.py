# SPDX-License-Identifier: Apache-2.0
"""Preloaded programs, the lines that Stretto prints in them, and the effect of its variables."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.python.libraries import on_one_library

from stretto.support.paths import library

if TYPE_CHECKING:
    from tests.python.conftest import Runner

OTHER = {"openmpi": "mpich", "mpich": "openmpi"}


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


@pytest.mark.parametrize(("value", "small"), [("1", ""), ("large", " (small ones are not counted)")])
def test_a_summary(mpi: Runner, value: str, small: str) -> None:
    ran = mpi.run(STRETTO_ALLREDUCE="ring:segments=4", STRETTO_SUMMARY=value)
    assert ran.right, ran.output
    (line,) = ran.lines
    assert f"on rank 0{small}, 5 by Stretto and " in line
    name = "Open MPI 4" if mpi.abi == "openmpi" else "MPICH 4"
    assert f" by {name}" in line
    assert "allreduce by ring:segments=4 (5 calls, " in line
    assert re.search(r"; [0-9.e-]+ s of [0-9.e-]+ s in them: ", line)


@on_one_library
@pytest.mark.parametrize(
    ("value", "text"), [("1", "on rank 0, 0 by Stretto"), ("large", "no collective was counted on rank 0")]
)
def test_a_summary_of_small_calls(mpi: Runner, value: str, text: str) -> None:
    ran = mpi.run(STRETTO_SUMMARY=value, STRETTO_TABLE="none")
    assert ran.right, ran.output
    (line,) = ran.lines
    assert text in line


@on_one_library
def test_statistics_that_cannot_be_written(mpi: Runner) -> None:
    ran = mpi.run(STRETTO_STATS="/nowhere/at/all.json")
    assert ran.right, ran.output
    assert len(ran.lines) == 1
    assert "STRETTO_STATS=/nowhere/at/all.json: cannot be written: No such file or directory" in ran.lines[0]


@on_one_library
def test_statistics_that_cannot_be_written_end_a_strict_job_before_it_works(mpi: Runner) -> None:
    ran = mpi.run(STRETTO_STATS="/nowhere/at/all.json", STRETTO_STRICT="1")
    assert not ran.right
    assert any("No such file or directory; the job ends (STRETTO_STRICT)" in line for line in ran.lines)


@on_one_library
def test_statistics_replace_a_file_as_a_whole_and_leave_a_device_alone(mpi: Runner, tmp_path: Path) -> None:
    assert mpi.run(STRETTO_STATS="/dev/null").right
    assert Path("/dev/null").is_char_device()
    (tmp_path / "link.json").symlink_to(tmp_path / "stats.json")
    assert mpi.run(STRETTO_STATS=str(tmp_path / "link.json")).right
    assert (tmp_path / "link.json").is_symlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.json", "stats.json"]


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
    ("rnig", ["did you mean ring?"]),
    ("tree", ["native", "ring", "rabenseifner"]),
    ("ring:segments=0", ["segments", "1"]),
    ("ring:segments=2:segment_bytes=4", ["segments", "segment_bytes"]),
    ("ring:colour=red", ["colour", "segments", "segment_bytes", "window"]),
    ("ring:segments=99999999999999999999", ["32768"]),
    ("ring:", ["segments", "window"]),
]


@on_one_library
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


@on_one_library
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


@on_one_library
@pytest.mark.parametrize("name", ["STRETTO_ALREDUCE", "STRETTO_X"])
def test_an_unknown_setting(mpi: Runner, name: str) -> None:
    ran = mpi.run(more={name: "ring"})
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert name in ran.lines[0]
    assert "STRETTO_ALLREDUCE" in ran.lines[0]


@on_one_library
@pytest.mark.parametrize(
    "name", ["STRETTO_DISABLE", "STRETTO_CHECK", "STRETTO_ONLINE", "STRETTO_PROGRESS_THREAD"]
)
def test_a_switch_that_is_no_switch(mpi: Runner, name: str) -> None:
    ran = mpi.run(more={name: "yes"})
    assert ran.right, ran.output
    assert len(ran.lines) == 1
    choices = "0, 1 or freeze" if name == "STRETTO_ONLINE" else "0 or 1"
    assert f'{name}: must be {choices}, not "yes"' in ran.lines[0]


@on_one_library
@pytest.mark.parametrize("value", ["30x", "-1s", "soon"])
def test_a_time_that_is_none(mpi: Runner, value: str) -> None:
    ran = mpi.run(STRETTO_WATCHDOG=value)
    assert ran.right, ran.output
    assert len(ran.lines) == 1
    assert f'STRETTO_WATCHDOG: must be a time such as 30s, 500ms or 5min, not "{value}"' in ran.lines[0]


@on_one_library
@pytest.mark.parametrize(
    ("name", "value"),
    [("STRETTO_CHECK", "on"), ("STRETTO_PROGRESS_THREAD", "2"), ("STRETTO_WATCHDOG", "0s")],
)
def test_a_bad_value_when_strict(mpi: Runner, name: str, value: str) -> None:
    ran = mpi.run(STRETTO_STRICT="1", more={name: value})
    assert ran.code != 0
    assert "right" not in ran.output.splitlines()
    assert len(ran.lines) == 1, ran.output
    assert f"{name}: must be" in ran.lines[0]
    assert f'not "{value}"' in ran.lines[0]


@on_one_library
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


def test_a_launcher_of_another_library(mpi: Runner) -> None:
    other = replace(mpi, abi=OTHER[mpi.abi])
    program = str(mpi.compiled("probe.cpp"))
    launcher = {"openmpi": "Open MPI's launcher", "mpich": "the launcher (of MPICH"}[other.abi]
    name = {"openmpi": "Open MPI 4", "mpich": "MPICH 4"}[mpi.abi]
    ran = other.run([program])
    assert len(ran.lines) == 1, ran.output
    assert launcher in ran.lines[0]
    assert "started 2 ranks, but MPI_COMM_WORLD has 1" in ran.lines[0]
    assert f"the program uses {name}" in ran.lines[0]
    # Each rank is a job of its own, and the launcher may mix their lines.
    assert ran.code == 0, ran.output
    assert ran.output.count("right") == 2, ran.output
    # One rank is right under any launcher.
    ran = other.run([program], ranks=1)
    assert "started" not in ran.output


UNKNOWN_LIBRARY = """
int PMPI_Init(int* count, char*** words) { return 0; }
int MPI_Init(int* count, char*** words) { return 0; }
int PMPI_Initialized(int* is_so) { return *is_so = 0; }
int MPI_Barrier(void* comm) { return 5; }
int MPI_Finalize(void) { return 0; }
"""
ITS_PROGRAM = """
#include <stdio.h>
int MPI_Init(int*, char***), MPI_Barrier(void*), MPI_Finalize(void);
int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (MPI_Barrier(0) == 5) puts("right");
  return MPI_Finalize();
}
"""


@pytest.mark.parametrize("strict", [False, True])
def test_an_mpi_library_that_stretto_does_not_know(strict: bool, tmp_path: Path) -> None:
    unknown = tmp_path / "libmpi.so.77"
    (tmp_path / "library.c").write_text(UNKNOWN_LIBRARY)
    (tmp_path / "program.c").write_text(ITS_PROGRAM)
    program = tmp_path / "program"
    shared = ["-shared", "-fPIC", f"-Wl,-soname,{unknown.name}"]
    subprocess.run(["cc", *shared, tmp_path / "library.c", "-o", unknown], check=True)
    found = f"-Wl,-rpath,{tmp_path}"
    subprocess.run(["cc", tmp_path / "program.c", unknown, found, "-o", program], check=True)
    settings = {"LD_PRELOAD": str(library()), "STRETTO_STRICT": str(int(strict))}
    ran = subprocess.run([program], env=os.environ | settings, capture_output=True, text=True, timeout=60)
    assert ran.stderr == (
        f"stretto: the process uses {unknown}, of a binary interface that Stretto does not know; "
        "every call goes to the MPI library\n"
    )
    assert (ran.returncode != 0, ran.stdout) == ((True, "") if strict else (False, "right\n"))


# The calls of traced.c on rank 0, and the calls that start and complete requests (MPI_Waitall: three).
CALLS = {"MPI_Allreduce": 3, "MPI_Iallreduce": 2, "MPI_Bcast": 2, "MPI_Ibcast": 1, "MPI_Reduce": 1}
CALLS |= {"MPI_Barrier": 1}
WAITS = {"MPI_Start": 6, "MPI_Wait": 6, "MPI_Waitall": 1}
BY_LIBRARY = ["STRETTO_ALLREDUCE", "STRETTO_BCAST", "STRETTO_REDUCE"]


def seen_by_tool(output: str) -> dict[str, int]:
    """The number of calls of each function on rank 0, as the tool saw them."""
    words = [line.split() for line in output.splitlines() if line.startswith("the tool saw ")]
    return {name: int(count) for _, _, _, name, count in words}


def counted(file: Path) -> dict[tuple[str, str], int]:
    """The number of calls of each collective by each spec, on rank 0."""
    calls = json.loads(file.read_text())["calls"]
    return {(call["collective"], call["spec"]): call["calls"] for call in calls}


def traced_with(mpi: Runner, *preload: Path, **settings: str) -> dict[str, int]:
    """The calls that the tool saw of a successful program with these objects preloaded, in this order."""
    objects = ":".join(map(str, preload))
    ran = mpi.run([str(mpi.compiled("traced.c"))], preload=objects, ranks=3, more=settings)
    assert ran.right, ran.output
    return seen_by_tool(ran.output)


@pytest.mark.parametrize("stats", [False, True], ids=["", "counted"])
def test_a_tool_behind_stretto_sees_what_the_library_does(mpi: Runner, tmp_path: Path, stats: bool) -> None:
    tool = mpi.compiled("counting_tool.c", "-shared", "-fPIC")
    file = tmp_path / "stats.json"
    settings = dict.fromkeys(BY_LIBRARY, "native") | ({"STRETTO_STATS": str(file)} if stats else {})
    seen = traced_with(mpi, library(), tool, **settings)
    assert seen == {**CALLS, "MPI_Allreduce_init": 2, **WAITS}
    if stats:
        # If the MPI library carries out persistent calls, the tool sees only the initialization.
        assert counted(file) == {("allreduce", "native"): 7, ("bcast", "native"): 3, ("reduce", "native"): 1}


@pytest.mark.parametrize("spec", ["ring", "native:segments=2"])
def test_a_tool_behind_stretto_sees_nothing_of_strettos_calls(mpi: Runner, tmp_path: Path, spec: str) -> None:
    tool = mpi.compiled("counting_tool.c", "-shared", "-fPIC")
    file = tmp_path / "stats.json"
    settings = {"STRETTO_ALLREDUCE": spec, "STRETTO_STATS": str(file)}
    seen = traced_with(mpi, library(), tool, **settings)
    assert seen["MPI_Allreduce"] == seen["MPI_Iallreduce"] == 0
    assert (seen["MPI_Bcast"], seen["MPI_Ibcast"], seen["MPI_Reduce"]) == (2, 1, 1)
    if spec == "ring":
        assert seen["MPI_Allreduce_init"] == 0
        assert counted(file)["allreduce", spec] == 11
    else:
        # Persistent calls by the MPI library are never cut into segments.
        assert seen["MPI_Allreduce_init"] == 2
        assert (counted(file)["allreduce", spec], counted(file)["allreduce", "native"]) == (5, 2)


@pytest.mark.parametrize(("spec", "count"), [("native", 7), ("ring", 11)])
def test_a_tool_before_stretto_sees_every_call(mpi: Runner, tmp_path: Path, spec: str, count: int) -> None:
    # The tool itself calls PMPI functions, which Stretto also intercepts.
    tool = mpi.compiled("counting_tool.c", "-shared", "-fPIC")
    file = tmp_path / "stats.json"
    settings = {"STRETTO_ALLREDUCE": spec, "STRETTO_STATS": str(file)}
    seen = traced_with(mpi, tool, library(), **settings)
    assert seen == {**CALLS, "MPI_Allreduce_init": 2, **WAITS}
    assert counted(file) == {("allreduce", spec): count, ("bcast", "native"): 3, ("reduce", "native"): 1}


# The first race takes 192 barriers, half of which are the library's.
BARRIERS = 192


@pytest.mark.parametrize(
    ("settings", "by_library"),
    [
        ({}, BARRIERS // 2),
        ({"STRETTO_ONLINE": "0"}, 0),
        ({"STRETTO_ONLINE": "0", "STRETTO_ALLREDUCE": "native"}, 0),
        ({"STRETTO_REPRODUCIBLE": "1"}, BARRIERS // 2),
        ({"STRETTO_ONLINE": "0", "STRETTO_SHM": "0"}, BARRIERS),
        ({"STRETTO_ONLINE": "0", "STRETTO_TOPOLOGY": "nodes=3,ppn=1"}, BARRIERS),
        ({"STRETTO_ONLINE": "0", "STRETTO_WATCHDOG": "60s"}, BARRIERS),
        ({"STRETTO_ONLINE": "0", "STRETTO_CHECK": "1"}, BARRIERS),
        ({"STRETTO_DISABLE": "1"}, BARRIERS),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else None,
)
def test_who_makes_barriers(mpi: Runner, settings: dict[str, str], by_library: int) -> None:
    tool = mpi.compiled("counting_tool.c", "-shared", "-fPIC")
    program = [str(mpi.compiled("barrier.cpp", "-pthread")), "count", str(BARRIERS)]
    ran = mpi.run(program, preload=f"{library()}:{tool}", ranks=3, more=settings)
    assert ran.right, ran.output
    assert ran.lines == [], ran.output
    assert seen_by_tool(ran.output)["MPI_Barrier"] == by_library


@on_one_library
def test_barriers_are_not_counted(mpi: Runner) -> None:
    """No spec is chosen for barriers, and they have no bytes."""
    program = [str(mpi.compiled("barrier.cpp", "-pthread")), "count", str(BARRIERS)]
    for summary in ("1", "large"):
        ran = mpi.run(program, more={"STRETTO_SUMMARY": summary})
        assert ran.right, ran.output
        assert len(ran.lines) == 1, ran.output
        assert "no collective was counted" in ran.lines[0]


def levels(mpi: Runner, asked: str, flags: list[str], stretto: bool, **settings: str) -> dict[str, str]:
    """The thread level that a program gets ("none": from MPI_Init), and the level that MPI is asked for."""
    tool = str(mpi.compiled("level_tool.c", "-shared", "-fPIC"))
    preload = f"{library()}:{tool}" if stretto else tool
    ran = mpi.run([str(mpi.compiled("levels.c", *flags)), asked], preload=preload, more=settings)
    assert ran.right, ran.output
    assert ran.lines == []
    words = [line.split() for line in ran.output.splitlines() if line != "right"]
    return {line[-2]: line[-1] for line in words}


@pytest.mark.parametrize("asked", ["none", "single", "funneled", "serialized", "multiple"])
def test_threads_of_a_program_without_non_blocking_collectives(mpi: Runner, asked: str) -> None:
    natively = levels(mpi, asked, [], stretto=False)
    assert natively["saw"] == ("single" if asked == "none" else asked)
    assert levels(mpi, asked, [], stretto=True) == natively


@pytest.mark.parametrize("asked", ["none", "single", "funneled", "serialized", "multiple"])
def test_threads_of_a_program_with_non_blocking_collectives(mpi: Runner, asked: str) -> None:
    natively = levels(mpi, asked, ["-DNON_BLOCKING"], stretto=False)
    # Stretto's helper thread calls MPI. The program gets the level that it asked for.
    expected = {**natively, "saw": "multiple"}
    assert levels(mpi, asked, ["-DNON_BLOCKING"], stretto=True) == expected


def test_threads_where_a_progress_thread_is_asked_for(mpi: Runner) -> None:
    natively = levels(mpi, "funneled", [], stretto=False)
    assert levels(mpi, "funneled", [], stretto=True, STRETTO_PROGRESS_THREAD="1") == {
        **natively,
        "saw": "multiple",
    }


def test_threads_of_a_program_that_makes_windows(mpi: Runner) -> None:
    # With a raised thread level, Open MPI 4 refuses windows over TCP.
    flags = ["-DNON_BLOCKING", "-DWINDOW"]
    natively = levels(mpi, "none", flags, stretto=False)
    expected = natively if mpi.abi == "openmpi" else {**natively, "saw": "multiple"}
    assert levels(mpi, "none", flags, stretto=True) == expected
    raised = levels(mpi, "none", flags, stretto=True, STRETTO_PROGRESS_THREAD="1")
    assert raised == {**natively, "saw": "multiple"}


@pytest.mark.parametrize("asked", ["none", "single", "funneled", "serialized", "multiple"])
def test_threads_of_a_program_with_an_operation_of_its_own(mpi: Runner, asked: str) -> None:
    # The MPI library would run it in the helper thread.
    flags = ["-DNON_BLOCKING", "-DOPERATION"]
    natively = levels(mpi, asked, flags, stretto=False)
    assert levels(mpi, asked, flags, stretto=True) == natively
    if asked == "single":
        raised = levels(mpi, asked, flags, stretto=True, STRETTO_PROGRESS_THREAD="1")
        assert raised == {**natively, "saw": "multiple"}


@pytest.mark.parametrize(
    ("flags", "reason", "only_on"),
    [
        (["-DNON_BLOCKING", "-DOPERATION"], "MPI_Op_create", ""),
        (["-DNON_BLOCKING", "-DWINDOW"], "Open MPI 4 may refuse", "openmpi"),
    ],
)
def test_why_calls_in_the_background_are_native(
    mpi: Runner, flags: list[str], reason: str, only_on: str
) -> None:
    program = [str(mpi.compiled("levels.c", *flags)), "single"]
    ran = mpi.run(program, STRETTO_ALLREDUCE="ring")
    assert ran.right, ran.output
    if only_on not in ("", mpi.abi):
        assert ran.lines == []
        return
    [line] = ran.lines
    assert line.startswith("stretto: the MPI library handles non-blocking calls: ")
    assert reason in line
    assert "STRETTO_PROGRESS_THREAD=1" in line
    assert mpi.run(program, STRETTO_ALLREDUCE="ring", STRETTO_PROGRESS_THREAD="1").lines == []


def test_threads_where_stretto_is_disabled(mpi: Runner) -> None:
    natively = levels(mpi, "none", ["-DNON_BLOCKING"], stretto=False)
    assert levels(mpi, "none", ["-DNON_BLOCKING"], stretto=True, STRETTO_DISABLE="1") == natively


@pytest.mark.parametrize(
    "program", [["/bin/true"], ["sh", "-c", "ls / >/dev/null"], [sys.executable, "-c", "pass"]]
)
def test_programs_without_mpi(program: list[str]) -> None:
    for binding in ({}, {"LD_BIND_NOW": "1"}):
        environment = {**os.environ, "LD_PRELOAD": str(library()), **binding}
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
    # Debian names MPICH's library libmpich; mpi4py loads the usual name.
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


def test_what_the_shared_object_shows_and_needs() -> None:
    path = library()
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    assert {"MPI_Allreduce", "MPI_Init", "MPI_Init_thread", "MPI_Query_thread"} <= names
    assert {"MPI_Iallreduce", "MPI_Allreduce_init", "MPI_Start", "MPI_Waitall"} <= names
    # Fortran's wrappers, and tools that precede Stretto, call PMPI.
    of_mpi = {name for name in names if name.startswith(("MPI_", "MPIX_"))}
    assert {name for name in names if name.startswith("P")} == {f"P{name}" for name in of_mpi}
    # The functions of all interfaces. Open MPI 4 lacks the former, and MPICH the latter.
    assert {"MPI_Allreduce_c", "MPIX_Allreduce_init"} <= names
    assert {"stretto_allreduce", "stretto_choice", "stretto_version"} <= names
    assert [name for name in names if not name.lstrip("P").startswith(("MPI", "stretto_"))] == []
    needed = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
    libraries = [line for line in needed.splitlines() if "NEEDED" in line]
    assert libraries
    assert not [line for line in libraries if any(n in line for n in ("mpi", "stdc++", "libgcc", "cuda"))]
    undefined = subprocess.run(
        ["nm", "-D", "--undefined-only", path], check=True, capture_output=True, text=True
    )
    assert "MPI_" not in undefined.stdout
    assert "ompi_" not in undefined.stdout


def test_a_program_changes_between_specs_while_it_runs(mpi: Runner, tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    program = [str(mpi.compiled("forced.cpp"))]
    assert mpi.run(program, more={"STRETTO_TABLE": "none"}).right
    # Without the guard, `auto` is what the rule says.
    more = {"STRETTO_TABLE": "none", "STRETTO_ONLINE": "0"}
    ran = mpi.run(program, more=more, STRETTO_STATS=str(file))
    assert ran.right, ran.output
    assert [line for line in ran.lines if "rings" not in line] == []
    long = [(spec, count) for spec, count, size in calls(file) if size == count * 16384]
    assert sorted(long) == [("native", 5), ("recursive_doubling", 5), ("ring", 5), ("ring:segments=4", 5)]
