# SPDX-License-Identifier: Apache-2.0
"""Shared memory inside a node: its setting, and jobs in which it does not work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.python.conftest import Runner


@pytest.mark.parametrize("value", ["0", "1", "", "64KiB", "3MiB"])
def test_the_setting(mpi: Runner, value: str) -> None:
    ran = mpi.run(STRETTO_ALLREDUCE="ring", more={"STRETTO_SHM": value}, ranks=3)
    assert ran.right, ran.output
    assert ran.lines == []


@pytest.mark.parametrize("value", ["yes", "2", "63KiB", "2GiB", "-1"])
def test_a_setting_that_is_none(mpi: Runner, value: str) -> None:
    ran = mpi.run(STRETTO_ALLREDUCE="ring", more={"STRETTO_SHM": value})
    assert ran.right, ran.output
    assert ran.lines == [
        f'stretto: STRETTO_SHM: must be 0, 1, or a size from 64KiB to 1GiB, not "{value}"; it is ignored'
    ]


def test_a_rank_without_room(mpi: Runner) -> None:
    program = str(mpi.compiled("probe.cpp"))
    # The MPI libraries make smaller files than this.
    limited = f'[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" != 1 ] || ulimit -f 204800; exec {program}'
    ran = mpi.run(["bash", "-c", limited], STRETTO_ALLREDUCE="ring", STRETTO_SHM="400MiB", ranks=3)
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert "rank 1: shared memory does not work (no room for" in ran.lines[0]
    assert "ulimit -f); messages between the ranks of its node go through the MPI library" in ran.lines[0]


def test_nothing_is_left(mpi: Runner) -> None:
    """Regions have no names. Jobs of other tests may have files with a secret."""
    listing = ["bash", "-c", f"{mpi.compiled('probe.cpp')} && ls --ignore='stretto-secret-*' /dev/shm"]
    ran = mpi.run(listing, STRETTO_ALLREDUCE="ring")
    assert ran.right, ran.output
    assert "stretto" not in ran.output
