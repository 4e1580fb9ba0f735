# SPDX-License-Identifier: Apache-2.0
"""Jobs that learn from their own calls (STRETTO_ONLINE): what they compute, try, and leave in the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto import _core

if TYPE_CHECKING:
    from tests.python.conftest import Ran, Runner

# A job learns from its own measurements, of which few may be of use beside other programs.
MOST_JOBS = 15
# The library is many times faster. Beside other programs, each message may take milliseconds.
SLOW = "reduce_broadcast:segments=16:window=1"


@pytest.fixture
def mpi_name(mpi: Runner, tmp_path: Path) -> str:
    """Name and version of the MPI library, as a table has it."""
    file = tmp_path / "asked.json"
    assert mpi.run(STRETTO_STATS=str(file)).right
    found = _core.parse_library_name(json.loads(file.read_text())["library"])
    assert found is not None
    return found[1]


def make_table(file: Path, mpi_name: str, ppn: int, spec: str = SLOW, nodes: int = 2) -> Path:
    shape = {"nodes": nodes, "ppn": ppn, "allreduce": [{"from": 0, "spec": spec}]}
    table = {
        "format": "stretto-table",
        "version": 1,
        "mpi": mpi_name,
        "shapes": [shape],
        "notes": {"by": "me"},
    }
    file.write_text(json.dumps(table))
    return file


def learn(mpi: Runner, calls: int, ppn: int = 1, **settings: str) -> Ran:
    program = [str(mpi.compiled("online.cpp", "-pthread")), str(calls)]
    more = {"STRETTO_ONLINE": "1", "STRETTO_TOPOLOGY": f"nodes=2,ppn={ppn}", **settings}
    return mpi.run(program, ranks=2 * ppn, more=more)


def used(file: Path, size: int = 65536) -> dict[str, int]:
    calls = json.loads(file.read_text())["calls"]
    return {c["spec"]: c["calls"] for c in calls if (c["collective"], c["bytes_from"]) == ("allreduce", size)}


def test_what_is_plainly_faster_is_adopted_and_saved(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    # While others disturb the machine, a job may learn nothing, or only near its end. Then the next one does.
    for _ in range(MOST_JOBS):
        file = make_table(tmp_path / "table.json", mpi_name, ppn=1)
        ran = learn(mpi, 1500, STRETTO_TABLE=str(file), STRETTO_STATS=str(tmp_path / "stats.json"))
        assert ran.right, ran.output
        assert ran.lines == []
        after = json.loads(file.read_text())
        # The halves, each of one rank, leave their calls to the library.
        calls = used(tmp_path / "stats.json")
        others = sum(count for spec, count in calls.items() if "reduce_broadcast" not in spec)
        if len(after["shapes"][0]["allreduce"]) > 1 and others > 400:
            break
    assert others > 400, calls
    assert after["notes"] == {"by": "me"}
    rows = after["shapes"][0]["allreduce"]
    assert [row["from"] for row in rows] == [0, "64KiB", "128KiB"]  # the list that was there has no end
    assert rows[1]["spec"] != rows[0]["spec"] == rows[2]["spec"]
    # The next job takes it from the start, and reads it without a word.
    again = mpi.run(
        [str(mpi.compiled("online.cpp", "-pthread")), "40"],
        ranks=2,
        more={"STRETTO_TOPOLOGY": "nodes=2,ppn=1", "STRETTO_TABLE": str(file)},
        STRETTO_STATS=str(tmp_path / "again.json"),
    )
    assert again.right
    assert again.lines == []
    assert rows[1]["spec"] in used(tmp_path / "again.json")
    assert sorted(tmp_path.iterdir()) == [
        tmp_path / name for name in ("again.json", "asked.json", "stats.json", "table.json")
    ]


def test_four_ranks_on_two_nodes(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    file = make_table(tmp_path / "table.json", mpi_name, ppn=2, spec="ring:segments=2")
    ran = learn(mpi, 400, ppn=2, STRETTO_TABLE=str(file))
    assert ran.right, ran.output
    assert ran.lines == []
    # Whether anything was faster is the machine's business; the table is one.
    assert len(_core.read_table(file.read_text()).shapes) == 1


def test_without_a_table_nothing_is_written_unless_something_is_learned(mpi: Runner, tmp_path: Path) -> None:
    file = tmp_path / "new" / "table.json"
    # Too few calls for a trial.
    ran = learn(mpi, 20, STRETTO_TABLE=str(file), STRETTO_STATS=str(tmp_path / "stats.json"))
    assert ran.right, ran.output
    assert ran.lines == []
    assert not file.parent.exists()
    assert "native" in used(tmp_path / "stats.json")


def test_the_table_of_another_version_is_left_as_it_is(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    file = make_table(tmp_path / "table.json", mpi_name + ".9", ppn=1)
    before = file.read_bytes()
    ran = learn(mpi, 200, STRETTO_TABLE=str(file))
    assert ran.right, ran.output
    first, second = ran.lines
    assert "it is used anyway" in first
    # Said before anything is learned, so that nobody waits hours for it.
    assert second == (
        f"stretto: STRETTO_ONLINE: what is learned is not saved, since {file} was made on {mpi_name}.9, "
        f"and this is {mpi_name}"
    )
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("STRETTO_CHECK", "1", "no effect with STRETTO_CHECK"),
        ("STRETTO_REPRODUCIBLE", "1", "no effect with STRETTO_REPRODUCIBLE"),
        ("STRETTO_ALLREDUCE", "ring", "no effect on allreduce, because of STRETTO_ALLREDUCE"),
        ("STRETTO_TABLE", "none", "not saved, because of STRETTO_TABLE=none"),
    ],
)
def test_where_it_has_no_effect(mpi: Runner, name: str, value: str, words: str) -> None:
    ran = mpi.run(more={"STRETTO_ONLINE": "1", name: value})
    assert ran.right
    (line,) = ran.lines
    assert words in line
