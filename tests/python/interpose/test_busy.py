# SPDX-License-Identifier: Apache-2.0
"""The findings of a job whose ranks wait for their cores, and their use in later jobs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.python.conftest import Runner


def measured_by_job(mpi: Runner, file: Path, what: str | None, *command: str) -> dict[str, Any]:
    """Returns the file of the network after a job of two ranks that find their cores `idle` or `busy`.

    `command` runs each rank.
    """
    ran = mpi.run(
        [*command, str(mpi.compiled("online.cpp", "-pthread")), "100"],
        more={"STRETTO_TOPOLOGY": "nodes=2,ppn=1", "STRETTO_TABLE": "none", "STRETTO_FABRIC": str(file)},
        **(mpi.told_that_cores_are(what) if what else {}),
    )
    assert ran.right, ran.output
    assert ran.lines == [], ran.output
    measured = json.loads(file.read_text())["measured"]
    assert isinstance(measured, dict)
    return measured


def test_ranks_that_share_a_core_mark_what_they_measure(mpi: Runner, tmp_path: Path) -> None:
    core = str(min(os.sched_getaffinity(0)))
    measured = measured_by_job(mpi, tmp_path / "fabric.json", None, "taskset", "-c", core)
    assert 0.1 <= measured["busy"] <= 1


@pytest.fixture
def file(mpi: Runner, tmp_path: Path) -> Path:
    """The findings of a job on an idle machine, marked as if the machine had been busy."""
    file = tmp_path / "fabric.json"
    assert "busy" not in measured_by_job(mpi, file, "idle")
    content = json.loads(file.read_text())
    for one in [content["measured"], *content["decisions"]]:
        one |= {"busy": 0.9, "when": "2020-01-01"}
    file.write_text(json.dumps(content))
    return file


def test_a_job_with_cores_of_its_own_measures_again(mpi: Runner, file: Path) -> None:
    measured = measured_by_job(mpi, file, "idle")
    assert "busy" not in measured
    assert measured["when"] > "2020-01-01"


def test_a_job_that_waits_as_well_uses_what_there_is(mpi: Runner, file: Path) -> None:
    # If calls take other times than in that job, the network is also measured again.
    measured = measured_by_job(mpi, file, "busy")
    assert (measured["busy"], measured["when"]) == (0.9, "2020-01-01") or measured["busy"] == 1
