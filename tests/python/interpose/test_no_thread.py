# SPDX-License-Identifier: Apache-2.0
"""Ranks for which the system refuses to start a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stretto.support.paths import library

if TYPE_CHECKING:
    from tests.python.conftest import Ran, Runner


def run(mpi: Runner, refused: str, **settings: str) -> Ran:
    tool = mpi.compiled("no_thread_tool.c", "-shared", "-fPIC", "-ldl")
    return mpi.run(
        [str(mpi.compiled("no_thread.c"))],
        preload=f"{library()}:{tool}",
        ranks=3,
        more={"NO_THREAD": refused, "STRETTO_ALLREDUCE": "ring", **settings},
    )


@pytest.mark.parametrize("refused", ["0", "1", "0,1,2"])
def test_the_library_handles_non_blocking_calls_of_all(mpi: Runner, refused: str) -> None:
    """All ranks must agree, also the ranks that have a thread."""
    ran = run(mpi, refused)
    assert ran.right, ran.output
    (line,) = ran.lines
    assert line.startswith("stretto: the MPI library handles non-blocking calls: the system refused a thread")


def test_with_threads_stretto_handles_them(mpi: Runner) -> None:
    ran = run(mpi, "none")
    assert ran.right, ran.output
    assert ran.lines == [], ran.output


def test_no_thread_for_a_watchdog(mpi: Runner) -> None:
    ran = run(mpi, "1", STRETTO_WATCHDOG="60s")
    assert ran.right, ran.output
    assert (
        len([line for line in ran.lines if "rank 1: STRETTO_WATCHDOG: its thread cannot start" in line]) == 1
    )
    assert len(ran.lines) == 2, ran.output
