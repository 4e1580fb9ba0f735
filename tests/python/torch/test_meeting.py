# SPDX-License-Identifier: Apache-2.0
"""Ranks that meet in a store. They are threads here."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from stretto.support.errors import StrettoError
from stretto.torch.meeting import Clock, Outcome, meet

# Its stubs do not have all.
dist: Any = importlib.import_module("torch.distributed")

LONG = timedelta(seconds=60)
SHORT = timedelta(milliseconds=200)


def everybody(store: Any, jobs: list[str]) -> list[tuple[Outcome, str]]:
    """Returns the outcome of a meeting of ranks that are in these jobs, as each rank gets it."""
    with ThreadPoolExecutor(len(jobs)) as threads:
        said = [
            threads.submit(meet, store, rank, len(jobs), Clock(LONG), job) for rank, job in enumerate(jobs)
        ]
        return [one.result() for one in said]


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_ranks_agree_on_a_new_job_each_time(ranks: int) -> None:
    store = dist.HashStore()
    names = set()
    for _ in range(3):
        first, *others = everybody(store, [""] * ranks)
        assert first[0] is Outcome.BEGIN
        assert all(other == first for other in others)
        names.add(first[1])
    assert len(names) == 3
    # Nothing is left.
    assert store.num_keys() == 0


def test_ranks_of_one_job_stay_in_it() -> None:
    assert everybody(dist.HashStore(), ["a", "a", "a"]) == [(Outcome.JOIN, "a")] * 3


@pytest.mark.parametrize("jobs", [["a", "b", "a"], ["", "a", "a"], ["a", "", "a"]])
def test_ranks_of_several_jobs_cannot_meet(jobs: list[str]) -> None:
    assert {outcome for outcome, _ in everybody(dist.HashStore(), jobs)} == {Outcome.MIXED}


def test_who_is_missing_is_named_by_all_who_came() -> None:
    store = dist.HashStore()
    with ThreadPoolExecutor(2) as threads:
        for one in [threads.submit(meet, store, rank, 4, Clock(SHORT)) for rank in (0, 2)]:
            with pytest.raises(StrettoError, match=r"within 0.2 s: ranks 1 and 3 did not arrive"):
                one.result()
    # A rank that comes later leaves nothing behind, and the next meeting works.
    with pytest.raises(StrettoError, match="rank 0 has not answered"):
        meet(store, 1, 4, Clock(SHORT))
    assert store.num_keys() == 0
    assert {outcome for outcome, _ in everybody(store, [""] * 4)} == {Outcome.BEGIN}


def test_of_many_who_are_missing_some_are_named() -> None:
    line = r"ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 9 more did not arrive"
    with pytest.raises(StrettoError, match=line):
        meet(dist.HashStore(), 0, 20, Clock(SHORT))
