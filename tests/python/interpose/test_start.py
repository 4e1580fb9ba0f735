# SPDX-License-Identifier: Apache-2.0
"""Jobs in which Stretto is not preloaded on every rank, or in which a rank is late."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto.support.paths import library

if TYPE_CHECKING:
    from tests.python.conftest import Ran, Runner

# The variable of the rank, for each launcher.
WITHOUT = 'case ${OMPI_COMM_WORLD_RANK-$PMI_RANK} in %s) unset LD_PRELOAD LD_AUDIT;; esac; exec "$0"'
WITH_OTHER = 'case ${OMPI_COMM_WORLD_RANK-$PMI_RANK} in %s) export LD_PRELOAD=%s:%s;; esac; exec "$0"'


def run_without(mpi: Runner, ranks: int, missing: list[int], **settings: str) -> Ran:
    program = str(mpi.compiled("partly.c"))
    shell = WITHOUT % "|".join(map(str, missing))
    given = {"STRETTO_START_LIMIT": "2s", "STRETTO_BCAST": "chain", **settings}
    return mpi.run(["sh", "-c", shell, program], ranks=ranks, more=given)


@pytest.mark.parametrize(
    ("ranks", "missing", "named"),
    [
        (2, [1], "rank 1"),
        (2, [0], "rank 0"),
        (4, [2], "rank 2"),  # which rank 3 would have heard from
        (4, [1, 3], "ranks 1 and 3"),
        (4, [0], "rank 0"),
    ],
)
def test_a_rank_without_the_preload(mpi: Runner, ranks: int, missing: list[int], named: str) -> None:
    ran = run_without(mpi, ranks, missing)
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert f"stretto: {named} of MPI_COMM_WORLD did not answer within 2 s" in ran.lines[0]
    assert "STRETTO_START_LIMIT" in ran.lines[0]


def test_a_rank_without_the_preload_when_strict(mpi: Runner) -> None:
    ran = run_without(mpi, 2, [1], STRETTO_STRICT="1")
    assert ran.code != 0
    assert "right" not in ran.output.splitlines()
    assert len(ran.lines) == 1, ran.output


@pytest.mark.parametrize(("ranks", "others"), [(2, [1]), (4, [2]), (4, [1, 3]), (4, [0]), (5, [2, 3])])
def test_ranks_of_another_build(mpi: Runner, ranks: int, others: list[int], tmp_path: Path) -> None:
    other = Path(shutil.copy(library(), tmp_path))
    core = library().parent / "libstretto-core.so"
    mark = re.compile(rb"(stretto build )[0-9a-f]{16}")
    content, found = mark.subn(rb"\1" + b"x" * 16, core.read_bytes())
    assert found == 1
    (tmp_path / core.name).write_bytes(content)
    shell = WITH_OTHER % ("|".join(map(str, others)), other, os.environ["LD_PRELOAD"])
    program = ["sh", "-c", shell, str(mpi.compiled("partly.c"))]
    # The limit is not waited for.
    ran = mpi.run(program, ranks=ranks, more={"STRETTO_START_LIMIT": "1h", "STRETTO_BCAST": "chain"})
    assert ran.right, ran.output
    assert ran.lines, ran.output
    for line in ran.lines:
        assert "of MPI_COMM_WORLD and others run with Stretto of different builds; every call goes" in line


def late(mpi: Runner, tmp_path: Path, limit: str) -> tuple[Ran, bool]:
    preload = f"{library()}:{mpi.compiled('late_tool.c', '-shared', '-fPIC')}"
    file = tmp_path / "stats.json"
    ran = mpi.run(
        [str(mpi.compiled("partly.c"))],
        preload=preload,
        ranks=3,
        STRETTO_START_LIMIT=limit,
        STRETTO_STATS=str(file),
    )
    return ran, file.exists()


@pytest.mark.parametrize("limit", ["", "60s", "0"])
def test_a_rank_that_is_late(mpi: Runner, tmp_path: Path, limit: str) -> None:
    ran, took_part = late(mpi, tmp_path, limit)
    assert ran.right, ran.output
    assert ran.lines == []
    assert took_part


def test_a_rank_that_is_later_than_the_limit(mpi: Runner, tmp_path: Path) -> None:
    ran, took_part = late(mpi, tmp_path, "100ms")
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert "rank 2 of MPI_COMM_WORLD" in ran.lines[0]
    assert not took_part
