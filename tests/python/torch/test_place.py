# SPDX-License-Identifier: Apache-2.0
"""What rank 0 answers to the ranks of a group that is being made."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from stretto.torch import place
from stretto.torch.job_secret import Secrecy

# Its stubs do not have all.
dist: Any = importlib.import_module("torch.distributed")

HERE = place._Word(network="this network")


def answer(*words: place._Word, ranks: list[int] | None = None) -> place._Answer:
    with ExitStack() as until:
        secrecy = Secrecy(dist.HashStore(), len(words), {})
        return place._decide(words, ranks or list(range(len(words))), secrecy, until)


def in_jobs(*jobs: str) -> list[place._Word]:
    return [place._Word(job, number, 8) for number, job in enumerate(jobs)]


@pytest.mark.parametrize("jobs", [("", ""), ("", "mpi", "mpi"), ("mpi", "")])
def test_ranks_of_no_job_begin_one(jobs: tuple[str, ...]) -> None:
    """Also if only some of them could begin MPI."""
    ranks = [7, *range(1, len(jobs))]
    first, second = (answer(*in_jobs(*jobs), ranks=ranks) for _ in range(2))
    assert first.secret.startswith("store ")
    assert first.numbers == list(range(len(jobs)))
    assert len({first.job, second.job, "", "mpi"}) == 4


@pytest.mark.parametrize("job", ["mpi", "a"])
def test_ranks_of_one_job_stay_in_it(job: str) -> None:
    """By their numbers there, whatever PyTorch calls them."""
    words = in_jobs(job, job, job)
    assert replace(answer(*words), tag=0) == place._Answer(job)
    assert answer(words[2], words[0]).numbers == [2, 0]
    assert answer(words[1], words[2], ranks=[1, 2]).numbers is None


@pytest.mark.parametrize("jobs", [("a", "b"), ("", "a"), ("a", ""), ("mpi", "a"), ("a", "", "mpi")])
def test_ranks_of_several_jobs_have_none_in_common(jobs: tuple[str, ...]) -> None:
    assert answer(*in_jobs(*jobs)) == place._Answer()


def test_threads_of_one_process_are_no_ranks() -> None:
    one, other = (place._Word(process=name) for name in ("a 1", "a 2"))
    assert answer(one, other).job
    assert answer(one, other, one) == place._Answer()


def test_the_loopback_serves_ranks_of_one_network_only() -> None:
    elsewhere = place._Word(network="another network")
    with_address = place._Word(address="10.0.0.2", network="another network")
    beside = place._Word(address="10.0.0.1", network="this network")
    assert answer(HERE, HERE).towards is None
    assert answer(HERE, elsewhere).towards == ""
    assert answer(HERE, with_address, HERE).towards == "10.0.0.2"
    assert answer(with_address, HERE).towards == "10.0.0.2"
    assert answer(HERE, beside).towards == "10.0.0.1"


@pytest.mark.parametrize("ranks", [1, 3, 1000, 32768, 100_000])
def test_groups_that_are_made_at_once_have_different_tags(ranks: int) -> None:
    """Whichever ranks lead them, and whatever their names are. MPI has few tags."""
    leaders = sorted({0, ranks // 2, ranks - 1}) if ranks <= 32768 else [0]
    tags = [place._tag(leader, ranks) for leader in leaders for _ in range(min(32768 // ranks, 8) or 1)]
    assert len(set(tags)) == len(tags)
    assert all(0 <= tag < 32768 for tag in tags)
