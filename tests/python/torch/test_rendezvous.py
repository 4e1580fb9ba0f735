# SPDX-License-Identifier: Apache-2.0
"""The variables that stretto.torch sets. Ranks are threads here."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stretto.support.errors import StrettoError
from stretto.torch import rendezvous

RANKS = 3


class Job:
    """A substitute for communication between ranks."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(RANKS, timeout=60)
        self.said: dict[int, Any] = {}

    def everybody(self, rank: int, value: Any) -> list[Any]:
        self.said[rank] = value
        self.barrier.wait()
        result = [self.said[one] for one in range(RANKS)]
        self.barrier.wait()
        return result


class Rank:
    """The two functions of the extension that are needed."""

    def __init__(self, job: Job, rank: int) -> None:
        self.job = job
        self.rank = rank

    def broadcast_bytes(self, text: bytes) -> bytes:
        everybody: list[bytes] = self.job.everybody(self.rank, text)
        assert len({len(one) for one in everybody}) == 1
        return everybody[0]

    def agree(self, numbers: list[int]) -> list[int]:
        return [min(column) for column in zip(*self.job.everybody(self.rank, numbers), strict=True)]


Environments = list[dict[str, str]]


@pytest.fixture
def meet() -> Callable[[int, dict[str, str]], Environments]:
    """Returns a function that lets ranks meet, and returns their environments afterwards."""

    def run(local_ranks: int, before: dict[str, str]) -> Environments:
        job, environments = Job(), [dict(before) for _ in range(RANKS)]

        def one(rank: int) -> None:
            place = (rank, RANKS, rank % local_ranks, local_ranks)
            rendezvous.set_environment(Rank(job, rank), place, environments[rank])

        with ThreadPoolExecutor(RANKS) as threads:
            for done in [threads.submit(one, rank) for rank in range(RANKS)]:
                done.result()
        return environments

    return run


Meet = Callable[[int, dict[str, str]], Environments]


def check_is_free(port: str) -> None:
    """Check that rank 0 can listen there, as torch's store does."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", int(port)))


def test_ranks_of_one_node_meet_there(meet: Meet) -> None:
    environments = meet(RANKS, {})
    for rank, environment in enumerate(environments):
        port = environment.pop("MASTER_PORT")
        assert port == environments[0].get("MASTER_PORT", port)
        assert environment == {
            "RANK": str(rank),
            "WORLD_SIZE": str(RANKS),
            "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(RANKS),
            "MASTER_ADDR": "127.0.0.1",
        }
        check_is_free(port)


def test_ranks_of_several_nodes_meet_where_all_get(meet: Meet, monkeypatch: pytest.MonkeyPatch) -> None:
    # Rank 0 listens on IPv4 only.
    monkeypatch.setattr(rendezvous, "_own_addresses", lambda: ["::1", "127.0.0.1"])
    environments = meet(1, {})
    assert {environment["MASTER_ADDR"] for environment in environments} == {"127.0.0.1"}
    check_is_free(environments[0]["MASTER_PORT"])
    monkeypatch.setattr(rendezvous, "_own_addresses", lambda: ["::1", "::2"])
    with pytest.raises(StrettoError, match=r"\(::1, ::2\) is reached by all ranks"):
        meet(1, {})


def test_what_is_set_stays(meet: Meet) -> None:
    before = {"MASTER_ADDR": "head", "MASTER_PORT": "29500", "WORLD_SIZE": str(RANKS)}
    for environment in meet(1, before):
        assert before.items() <= environment.items()


@pytest.mark.parametrize("before", [{"WORLD_SIZE": "8"}, {"RANK": "7"}])
def test_what_contradicts_mpi_is_an_error(meet: Meet, before: dict[str, str]) -> None:
    (name, value), *_ = before.items()
    with pytest.raises(StrettoError, match=f"{name} is {value} in the environment"):
        meet(1, before)
