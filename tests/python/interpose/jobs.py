# SPDX-License-Identifier: Apache-2.0
"""Jobs that learn from their own calls: their tables, and the specs that they have used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto import _core

if TYPE_CHECKING:
    from tests.python.conftest import Runner

# A job learns from its own measurements, of which few may be useful beside other programs.
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


def used(file: Path, size: int = 65536) -> dict[str, int]:
    calls = json.loads(file.read_text())["calls"]
    return {c["spec"]: c["calls"] for c in calls if (c["collective"], c["bytes_from"]) == ("allreduce", size)}
