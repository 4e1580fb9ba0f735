# SPDX-License-Identifier: Apache-2.0
"""The line at the start of a job that says who carries its calls."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import torch.distributed

from stretto.torch import groups

dist: Any = torch.distributed  # its stubs are incomplete
SAID = (
    "stretto: Stretto carries this job's calls of torch.distributed: 2 ranks, by {} (STRETTO_QUIET=1 drops "
)
IN_JOB = SimpleNamespace(ranks=[0, 1], tag=0)


def make_group(
    monkeypatch: pytest.MonkeyPatch, *, rank: int = 0, place: object = IN_JOB, is_own: bool = True
) -> Any:
    """Makes a group without an extension. `is_own`: whether the job has no MPI."""
    extension = SimpleNamespace(make_group=lambda *_: "ours", is_in_store_job=lambda: is_own)
    monkeypatch.setattr(groups, "load_extension", lambda: extension)
    monkeypatch.setattr(groups, "find_place", lambda *_: place)
    options = SimpleNamespace(
        group_rank=rank,
        timeout=timedelta(seconds=1),
        global_ranks_in_group=[],
        group_size=2,
        group_id="0",
        store=dist.HashStore(),
    )
    return groups.create(options, lambda *_, **__: "gloo's")


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    groups._announce.cache_clear()
    monkeypatch.delenv("STRETTO_QUIET", raising=False)


@pytest.mark.parametrize(("is_own", "how"), [(True, "connections of its own"), (False, "the MPI library")])
def test_it_is_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_own: bool, how: str
) -> None:
    for _ in range(3):
        assert make_group(monkeypatch, is_own=is_own) == "ours"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(SAID.format(how))


def test_other_ranks_do_not_say_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make_group(monkeypatch, rank=1) == "ours"
    assert capsys.readouterr().err == ""


def test_it_is_not_said_where_gloo_carries_the_calls(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make_group(monkeypatch, place=None) == "gloo's"
    assert capsys.readouterr().err == ""


def test_a_quiet_job_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STRETTO_QUIET", "1")
    assert make_group(monkeypatch) == "ours"
    assert capsys.readouterr().err == ""
