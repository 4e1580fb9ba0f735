# SPDX-License-Identifier: Apache-2.0
"""Jobs with a tuning table: the specs that ranks use, and the message for a table that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.libraries import on_one_library

from stretto import _core
from stretto.support.paths import library

if TYPE_CHECKING:
    from tests.python.conftest import Ran, Runner

Rows = list[tuple[int | str, str]]

FOUR_NODES = {"STRETTO_TOPOLOGY": "nodes=4,ppn=1"}
FAMILY = {"openmpi": "Open MPI", "mpich": "MPICH"}


def shape(nodes: int, ppn: int, **calls: Rows) -> dict[str, Any]:
    lists = {call: [{"from": start, "spec": spec} for start, spec in rows] for call, rows in calls.items()}
    return {"nodes": nodes, "ppn": ppn, **lists}


def table(mpi_name: str, *shapes: dict[str, Any]) -> dict[str, Any]:
    return {"format": "stretto-table", "version": 1, "mpi": mpi_name, "shapes": list(shapes)}


@pytest.fixture(scope="module")
def names() -> dict[str, str]:
    """A cache: the name of each runner's MPI library."""
    return {}


@pytest.fixture
def mpi_name(mpi: Runner, names: dict[str, str], tmp_path: Path) -> str:
    """Name and version of the MPI library, as in tables."""
    if mpi.abi not in names:
        file = tmp_path / "asked.json"
        assert mpi.run(STRETTO_STATS=str(file)).right
        found = _core.parse_library_name(json.loads(file.read_text())["library"])
        assert found is not None
        names[mpi.abi] = found[1]
    return names[mpi.abi]


def asked(mpi: Runner, *calls: str, settings: dict[str, str], second: dict[str, str] | None = None) -> Ran:
    program = [str(mpi.compiled("choices.cpp")), *calls]
    return mpi.run(program, ranks=4, more={**FOUR_NODES, **settings}, second=second)


def answers(ran: Ran, comm: str = "world") -> dict[str, str]:
    assert ran.right, ran.output
    words = [line.split() for line in ran.output.splitlines()]
    return {line[1]: line[2] for line in words if len(line) == 3 and line[0] == comm}


def written(file: Path, content: object) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return str(file)


def counted(file: Path) -> dict[int, str]:
    """The spec of allreduces of each size, on rank 0."""
    calls = json.loads(file.read_text())["calls"]
    return {
        call["bytes"] // call["calls"]: call["spec"] for call in calls if call["collective"] == "allreduce"
    }


def test_the_tables_spec_is_taken(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    rows: Rows = [(0, "native"), (1000, "recursive_doubling"), ("4KiB", "ring:segments=3")]
    pairs = shape(2, 1, allreduce=[(0, "rabenseifner")])
    content = table(mpi_name, shape(4, 1, allreduce=rows, iallreduce=[(0, "pairwise")]), pairs)
    file, stats = written(tmp_path / "table.json", content), tmp_path / "stats.json"
    calls = ["allreduce:8", "allreduce:1000", "allreduce:4096", "iallreduce:8", "allreduce_init:8", "bcast:8"]
    ran = asked(mpi, *calls, settings={"STRETTO_TABLE": file, "STRETTO_STATS": str(stats)})
    assert ran.lines == []
    assert answers(ran) == {
        "allreduce:8": "native",
        "allreduce:1000": "recursive_doubling",
        "allreduce:4096": "ring:segments=3",
        "iallreduce:8": "pairwise",
        "allreduce_init:8": "recursive_doubling",  # of the built-in rule, as there is no list
        "bcast:8": "native",
    }
    assert answers(ran, "half")["allreduce:8"] == "rabenseifner"
    specs = counted(stats)
    assert specs[4000] == "recursive_doubling"
    assert specs[8000] == "pairwise"
    assert specs[32000] == "native"  # a ring keeps no rank order
    assert specs[40] == "rabenseifner"
    assert json.loads(stats.read_text())["table"] == file


def test_the_librarys_own_algorithm_is_said_by_its_name(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    content = table(mpi_name, shape(4, 1, allreduce=[(0, "native"), (4000, "native")]))
    content["shapes"][0]["allreduce"][1]["library"] = "ring:segment_bytes=4KiB"
    file = written(tmp_path / "table.json", content)
    ran = asked(mpi, "allreduce:8", "allreduce:4000", settings={"STRETTO_TABLE": file})
    assert answers(ran) == {"allreduce:8": "native", "allreduce:4000": "native(ring:segment_bytes=4KiB)"}
    forced = {"STRETTO_TABLE": file, "STRETTO_ALLREDUCE": "native"}
    assert set(answers(asked(mpi, "allreduce:4000", settings=forced)).values()) == {"native"}


def test_small_calls_look_at_the_table_too(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    # Without statistics, small calls need not look at their communicator.
    content = table(mpi_name, shape(4, 1, allreduce=[(0, "native"), (100, "ring:segments=2")]))
    file = written(tmp_path / "table.json", content)
    preload = f"{library()}:{mpi.compiled('counting_tool.c', '-shared', '-fPIC')}"
    program = [str(mpi.compiled("traced.c"))]
    for settings, seen in ({}, 3), ({"STRETTO_TABLE": file}, 0):
        more = {**FOUR_NODES, "STRETTO_ONLINE": "0", **settings}
        ran = mpi.run(program, ranks=4, preload=preload, more=more)
        assert ran.right, ran.output
        assert f"the tool saw MPI_Allreduce {seen}" in " ".join(ran.output.split())


def test_the_table_is_above_the_rule_and_below_what_is_forced(
    mpi: Runner, mpi_name: str, tmp_path: Path
) -> None:
    long = "allreduce:67108864"
    file = written(tmp_path / "table.json", table(mpi_name, shape(4, 1, allreduce=[(0, "native")])))
    assert answers(asked(mpi, long, settings={}))[long].startswith("ring")
    assert answers(asked(mpi, long, settings={"STRETTO_TABLE": file}))[long] == "native"
    forced = {"STRETTO_TABLE": file, "STRETTO_ALLREDUCE": "pairwise"}
    assert answers(asked(mpi, long, settings=forced))[long] == "pairwise"
    same_bits = {"STRETTO_TABLE": file, "STRETTO_REPRODUCIBLE": "1"}
    assert answers(asked(mpi, "allreduce:8", settings=same_bits)) == {"allreduce:8": "recursive_doubling"}


def test_beyond_what_was_measured_the_rule_decides(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    content = table(mpi_name, shape(4, 1, allreduce=[(64, "native")], iallreduce=[(64, "pairwise")]))
    for rows in (content["shapes"][0]["allreduce"], content["shapes"][0]["iallreduce"]):
        rows[-1]["to"] = 256
    file = written(tmp_path / "table.json", content)
    long = "allreduce:67108864"
    calls = ["allreduce:256", long, "iallreduce:8", "iallreduce:256", "iallreduce:264"]
    ran = asked(mpi, *calls, settings={"STRETTO_TABLE": file})
    assert ran.lines == []
    found, by_rule = answers(ran), answers(asked(mpi, *calls, settings={"STRETTO_TABLE": "none"}))
    assert found == by_rule | {"iallreduce:256": "pairwise"}
    assert found[long].startswith("ring")
    assert "pairwise" not in by_rule.values()


def test_what_must_not_be_the_librarys_own_is_not(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    lists: dict[str, Rows] = {call: [(0, "native")] for call in ("allreduce", "iallreduce", "allreduce_init")}
    file = written(tmp_path / "table.json", table(mpi_name, shape(4, 1, **lists)))
    calls = ["allreduce:8", "iallreduce:8", "allreduce_init:8"]
    own = "recursive_doubling"
    plain = asked(mpi, *calls, settings={"STRETTO_TABLE": file})
    assert list(answers(plain).values()) == ["native", "native", own if mpi.abi == "mpich" else "native"]
    checked = asked(mpi, *calls, settings={"STRETTO_TABLE": file, "STRETTO_CHECK": "1"})
    assert list(answers(checked).values()) == ["native", own, own]


def test_a_spec_that_does_not_fit_gives_way_to_the_rule(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    content = table(mpi_name, shape(4, 1, allreduce=[(0, "multilane"), ("1MiB", "smp(ring)")]))
    long = "allreduce:67108864"
    ran = asked(mpi, "allreduce:8", long, settings={"STRETTO_TABLE": written(tmp_path / "t.json", content)})
    assert ran.lines == []
    assert answers(ran)["allreduce:8"] == "native"
    assert answers(ran)[long].startswith("ring")


def test_the_nearest_shape_is_used_and_that_is_said(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    rows: Rows = [(0, "pairwise")]
    file = written(tmp_path / "near.json", table(mpi_name, shape(8, 1, allreduce=rows)))
    near = asked(mpi, "allreduce:8", settings={"STRETTO_TABLE": file})
    assert answers(near) == {"allreduce:8": "pairwise"}
    assert answers(near, "half") == {"allreduce:8": "native"}
    assert near.lines == [
        f"stretto: STRETTO_TABLE={file}: has no rows for nodes=4,ppn=1; its rows for nodes=8,ppn=1 are used"
    ]
    file = written(tmp_path / "far.json", table(mpi_name, shape(9, 1, allreduce=rows)))
    far = asked(mpi, "allreduce:8", settings={"STRETTO_TABLE": file})
    assert answers(far) == {"allreduce:8": "native"}
    assert far.lines == [
        f"stretto: STRETTO_TABLE={file}: has no rows for nodes=4,ppn=1; the built-in rule is used"
    ]


def test_the_default_place(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    content = table(mpi_name, shape(8, 1, allreduce=[(0, "pairwise")]))
    file = written(tmp_path / "stretto" / f"table-{mpi.abi}.json", content)
    stats = tmp_path / "stats.json"
    config = {"XDG_CONFIG_HOME": str(tmp_path)}
    ran = asked(mpi, "allreduce:8", settings={**config, "STRETTO_STATS": str(stats)})
    assert ran.lines == []
    assert answers(ran) == {"allreduce:8": "pairwise"}
    assert json.loads(stats.read_text())["table"] == file
    home = {"XDG_CONFIG_HOME": "", "HOME": str(tmp_path)}
    assert answers(asked(mpi, "allreduce:8", settings=home)) == {"allreduce:8": "native"}
    for setting in ({"STRETTO_TABLE": "none"}, {"STRETTO_DISABLE": "1"}):
        ran = asked(mpi, "allreduce:8", settings={**config, **setting})
        assert ran.lines == []
        assert answers(ran) == {"allreduce:8": "native"}


def test_rank_0s_table_counts(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    files = {
        spec: written(tmp_path / f"{spec}.json", table(mpi_name, shape(4, 1, allreduce=[(0, spec)])))
        for spec in ("pairwise", "ring")
    }
    second = {"STRETTO_TABLE": files["ring"], "XDG_CONFIG_HOME": "/nowhere"}
    ran = asked(mpi, "allreduce:8", settings={"STRETTO_TABLE": files["pairwise"]}, second=second)
    assert ran.lines == []
    assert answers(ran) == {"allreduce:8": "pairwise"}
    # The default place of this library. Those of other libraries are not read.
    written(tmp_path / "config" / "stretto" / f"table-{mpi.abi}.json", "no table")
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    ran = asked(mpi, "allreduce:8", settings={}, second=config)
    assert ran.lines == []
    assert answers(ran) == {"allreduce:8": "native"}


@on_one_library
def test_a_table_of_another_version(mpi: Runner, tmp_path: Path) -> None:
    name = f"{FAMILY[mpi.abi]} 1.2.3"
    file = written(tmp_path / "table.json", table(name, shape(4, 1, allreduce=[(0, "pairwise")])))
    ran = asked(mpi, "allreduce:8", settings={"STRETTO_TABLE": file, "STRETTO_STRICT": "1"})
    assert answers(ran) == {"allreduce:8": "pairwise"}
    assert len(ran.lines) == 1
    assert f"was made on {name}, and this is {FAMILY[mpi.abi]}" in ran.lines[0]
    assert ran.lines[0].endswith("it is used anyway")


def bad_table(folder: Path, kind: str, abi: str) -> str:
    """The value of STRETTO_TABLE."""
    other = FAMILY["openmpi" if abi == "mpich" else "mpich"]
    rows: Rows = [(0, "rnig")]
    contents: dict[str, object] = {
        "corrupt": '{"format": "stretto-table", "version": 1,\n "mpi":',
        "misspelt": table(f"{FAMILY[abi]} 4.0", shape(4, 1, allreduce=rows)),
        "of another family": table(f"{other} 4.0", shape(4, 1, allreduce=[(0, "ring")])),
        "long": " " * (9 << 20),
    }
    return written(folder / "table.json", contents[kind]) if kind in contents else str(folder / "none.json")


BAD = {
    "corrupt": "line 2, column 8: this is not JSON: ",
    "misspelt": 'shapes[0].allreduce[0].spec: spec "rnig": there is no allreduce algorithm "rnig"',
    "of another family": "was made on ",
    "long": "it may have at most 8MiB",
    "missing": "there is no such file",
}


@on_one_library
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_table_is_said_once_and_not_used(mpi: Runner, tmp_path: Path, kind: str) -> None:
    file = bad_table(tmp_path, kind, mpi.abi)
    ran = asked(mpi, "allreduce:8", settings={"STRETTO_TABLE": file})
    assert answers(ran) == {"allreduce:8": "native"}
    assert len(ran.lines) == 1, ran.output
    assert ran.lines[0].startswith(f"stretto: STRETTO_TABLE={file}: ")
    assert BAD[kind] in ran.lines[0]
    assert ran.lines[0].endswith("; the built-in rule is used")


@on_one_library
@pytest.mark.parametrize("kind", ["corrupt", "of another family", "missing"])
def test_a_bad_table_when_strict(mpi: Runner, tmp_path: Path, kind: str) -> None:
    file = bad_table(tmp_path, kind, mpi.abi)
    ran = asked(mpi, "allreduce:8", settings={"STRETTO_TABLE": file, "STRETTO_STRICT": "1"})
    assert ran.code != 0
    assert "right" not in ran.output.splitlines()
    assert len(ran.lines) == 1, ran.output
    assert BAD[kind] in ran.lines[0]
    assert ran.lines[0].endswith("; the job ends (STRETTO_STRICT)")


@on_one_library
def test_a_bad_table_at_the_default_place(mpi: Runner, tmp_path: Path) -> None:
    file = written(tmp_path / "stretto" / f"table-{mpi.abi}.json", "{}")
    ran = asked(mpi, "allreduce:8", settings={"XDG_CONFIG_HOME": str(tmp_path)})
    assert answers(ran) == {"allreduce:8": "native"}
    assert ran.lines == [f'stretto: {file}: there is no "format"; the built-in rule is used']
