# SPDX-License-Identifier: Apache-2.0
"""`stretto explain` names the spec that a job uses, whichever source decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.python.interpose.jobs import make_table, mpi_name, used

from stretto.explain.choices import find_claims, look_up, read_job_table
from stretto.model.fabric_file import read_fabric
from stretto.model.walker import Call

if TYPE_CHECKING:
    from tests.python.conftest import Runner

__all__ = ["mpi_name"]

CALL = Call("allreduce", 64 << 10, "nodes=3,ppn=1")


@pytest.mark.parametrize(
    ("settings", "row", "source"),
    [
        ({}, None, "rule"),
        ({"STRETTO_REPRODUCIBLE": "1"}, None, "rule"),
        ({"STRETTO_REPRODUCIBLE": "1"}, "ring", "rule"),
        ({}, "ring:segments=2", "table"),
        ({}, "native", "table"),
        ({}, "multilane", "rule"),
        ({"STRETTO_ALLREDUCE": "ring:segments=3"}, "ring", "forced"),
        ({"STRETTO_ALLREDUCE": "native"}, "ring", "forced"),
        ({"STRETTO_ALLREDUCE": "multilane"}, "ring", "forced"),
        ({"STRETTO_ALLREDUCE": "native", "STRETTO_REPRODUCIBLE": "1"}, "ring", "forced"),
    ],
)
def test_what_a_job_does(
    mpi: Runner, mpi_name: str, tmp_path: Path, settings: dict[str, str], row: str | None, source: str
) -> None:
    table = make_table(tmp_path / "table.json", mpi_name, ppn=1, spec=row, nodes=3) if row else None
    environment = {"STRETTO_ONLINE": "0", "STRETTO_TABLE": str(table or "none"), **settings}
    program = [str(mpi.compiled("online.cpp", "-pthread")), "10"]
    stats = tmp_path / "stats.json"
    where = {"STRETTO_TOPOLOGY": CALL.topology, "STRETTO_STATS": str(stats)}
    ran = mpi.run(program, ranks=3, more={**where, **environment})
    assert ran.right, ran.output

    file = tmp_path / "fabric.json"
    fabric = {"mpi": mpi_name, "network": "", "processor": "", "hosts": ""}
    file.write_text(json.dumps({"format": "stretto-fabric", "version": 1, "fabric": fabric, "decisions": []}))
    known = read_fabric(file)
    tuned = look_up(CALL, read_job_table(table or Path("none"), known.family))
    decides = next(one for one in find_claims(CALL, known, tuned, environment) if one.decides)
    assert decides.source == source
    # Sums of another size, operation or communicator are few.
    calls = used(stats)
    assert decides.spec == max(calls, key=lambda spec: calls[spec]), (decides, calls)
