# SPDX-License-Identifier: Apache-2.0
"""The line that follows the summary of a job: what a tuning might make faster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.python.interpose.jobs import make_table, mpi_name
from tests.python.libraries import on_one_library

if TYPE_CHECKING:
    from tests.python.conftest import Runner

__all__ = ["mpi_name"]

ADVICE = (
    "stretto: most of this time went to allreduce by the MPI default, with sizes that no tuning table "
    "covers: stretto tune --collectives allreduce --sizes 2KiB..4KiB -- LAUNCHER measures what is faster"
)
# On two nodes, the rule leaves an allreduce of so many bytes to the library.
BYTES = 2500
BETWEEN_NODES = {"STRETTO_SUMMARY": "1", "STRETTO_TOPOLOGY": "nodes=2,ppn=1"}


def advice(mpi: Runner, settings: dict[str, str], milliseconds: tuple[int, int] = (1200, 0)) -> list[str]:
    """The lines after the summary of a job whose rank 0 waits so long in an allreduce, and an alltoallv."""
    program = [str(mpi.compiled("slow_calls.c")), str(BYTES), *map(str, milliseconds)]
    ran = mpi.run(program, more=BETWEEN_NODES | settings)
    assert ran.right, ran.output
    summary, *rest = ran.lines
    assert "allreduce by native (1 call, " in summary
    return rest


@on_one_library
@pytest.mark.parametrize("online", ["0", "freeze"])
def test_what_only_the_rule_has_decided(mpi: Runner, online: str) -> None:
    assert advice(mpi, {"STRETTO_ONLINE": online}) == [ADVICE]


@on_one_library
@pytest.mark.parametrize(
    "settings",
    [
        {},  # the job compares by itself
        {"STRETTO_ONLINE": "0", "STRETTO_TABLE": "none"},
        {"STRETTO_ONLINE": "0", "STRETTO_CHECK": "1"},
        {"STRETTO_ONLINE": "0", "STRETTO_ALLREDUCE": "native"},
    ],
    ids="-".join,
)
def test_where_a_tuning_would_not_help(mpi: Runner, settings: dict[str, str]) -> None:
    assert advice(mpi, settings) == []


@on_one_library
def test_what_took_less_than_half_of_the_time(mpi: Runner) -> None:
    assert advice(mpi, {"STRETTO_ONLINE": "0"}, (1200, 2600)) == []


def test_what_a_table_covers(mpi: Runner, mpi_name: str, tmp_path: Path) -> None:
    table = make_table(tmp_path / "table.json", mpi_name, ppn=1, spec="native")
    assert advice(mpi, {"STRETTO_ONLINE": "0", "STRETTO_TABLE": str(table)}) == []


@pytest.mark.parametrize(("spec", "expected"), [("native", []), ("ring", [ADVICE])])
@pytest.mark.parametrize("in_place", [False, True])
def test_what_a_duel_has_decided(
    mpi: Runner, in_place: bool, spec: str, expected: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "fabric.json"
    # A job that measures its network writes by what it knows the network again.
    measuring = [str(mpi.compiled("slow_calls.c")), "65536", "0", "0"]
    assert mpi.run(measuring, more=BETWEEN_NODES | {"STRETTO_FABRIC": str(file)}).right
    known = json.loads(file.read_text())
    decision = {"nodes": 2, "ppn": 1, "call": "allreduce", "from": "2KiB", "spec": spec, "in_place": in_place}
    file.write_text(json.dumps(known | {"decisions": [decision]}))
    assert advice(mpi, {"STRETTO_ONLINE": "0", "STRETTO_FABRIC": str(file)}) == expected
