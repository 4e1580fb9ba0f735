# SPDX-License-Identifier: Apache-2.0
"""The line at the start of a job that says who carries its calls."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import torch.distributed

from stretto.torch import groups
from stretto.torch.mpi_job import Place

SAID = (
    "stretto: Stretto carries this job's calls of torch.distributed: 2 ranks, by {} (STRETTO_QUIET=1 drops "
)
OPTIONS: Any = SimpleNamespace(
    group_rank=0,
    timeout=timedelta(seconds=1),
    global_ranks_in_group=[],
    group_size=2,
    group_id="0",
    store=torch.distributed.HashStore(),
)


@pytest.fixture(autouse=True)
def job(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job in which groups are made without an extension."""
    groups._announce.cache_clear()
    extension = SimpleNamespace(make_group=lambda *_: "group")
    monkeypatch.setattr(groups, "load_extension", lambda: extension)
    monkeypatch.setattr(groups, "_mpi_place", lambda: None)
    monkeypatch.setattr(groups, "place_in_store_job", lambda *_: [0, 1])
    monkeypatch.delenv("STRETTO_QUIET", raising=False)


def test_it_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        assert groups.create(OPTIONS) == "group"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(SAID.format("connections of its own"))


def test_the_mpi_library_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place: Place = (0, 2, 0, 2)
    monkeypatch.setattr(groups, "_mpi_place", lambda: place)
    monkeypatch.setattr(groups._Group, "_ranks_for_mpi", lambda *_: [0, 1])
    groups.create(OPTIONS)
    assert capsys.readouterr().err.startswith(SAID.format("the MPI library"))


@pytest.mark.parametrize(("quiet", "rank", "ranks"), [("1", 0, [0, 1]), ("0", 1, [0, 1]), ("0", 0, None)])
def test_it_is_not_said(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    quiet: str,
    rank: int,
    ranks: list[int] | None,
) -> None:
    """By a quiet job, by other ranks, and if gloo carries the calls."""
    monkeypatch.setenv("STRETTO_QUIET", quiet)
    monkeypatch.setattr(groups, "place_in_store_job", lambda *_: ranks)
    groups.create(SimpleNamespace(**vars(OPTIONS) | {"group_rank": rank}), lambda *_, **__: "gloo's")
    assert capsys.readouterr().err == ""
