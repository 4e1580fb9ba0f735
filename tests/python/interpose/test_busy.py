# SPDX-License-Identifier: Apache-2.0
"""What a job finds out while its ranks wait for their cores, and what later jobs make of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.python.conftest import Runner


def measured_by_job(mpi: Runner, file: Path, what: str | None, *command: str) -> dict[str, Any]:
    """What is known of the network after a job of two ranks, who are told that they are `idle` or `busy`.

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
    """What a job has found out on an idle machine, marked as if it had been a busy one."""
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
    # Where calls take other times than then, the network is measured again, too.
    measured = measured_by_job(mpi, file, "busy")
    assert (measured["busy"], measured["when"]) == (0.9, "2020-01-01") or measured["busy"] == 1
