# SPDX-License-Identifier: Apache-2.0
"""Ranks that meet in a store, and that die there. They are threads here."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stretto.support.errors import StrettoError
from stretto.torch.meeting import Clock, agree

# Its stubs do not have all.
dist: Any = importlib.import_module("torch.distributed")

LONG = timedelta(seconds=60)
SHORT = timedelta(milliseconds=200)
RANKS = 3


def join(words: Sequence[str]) -> str:
    return ",".join(words)


def everybody(stores: Any, words: Sequence[str]) -> list[str]:
    """Returns what each rank gets when all meet. `stores`: as each of them sees the store, or as all do."""
    seen = stores if isinstance(stores, list) else [stores] * len(words)
    with ThreadPoolExecutor(len(words)) as threads:
        said = [
            threads.submit(agree, store, rank, len(words), Clock(LONG), word, join)
            for rank, (store, word) in enumerate(zip(seen, words, strict=True))
        ]
        return [one.result() for one in said]


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_rank_0_decides_from_all_words(ranks: int) -> None:
    store = dist.HashStore()
    for meeting in range(3):
        words = [f"word {rank} of {meeting}" for rank in range(ranks)]
        assert everybody(store, words) == [",".join(words)] * ranks
    # Nothing is left.
    assert store.num_keys() == 0


def test_who_is_missing_is_named_by_all_who_came() -> None:
    store = dist.HashStore()
    with ThreadPoolExecutor(2) as threads:
        for one in [threads.submit(agree, store, rank, 4, Clock(SHORT), "", join) for rank in (0, 2)]:
            with pytest.raises(StrettoError, match=r"within 0.2 s: ranks 1 and 3 did not arrive"):
                one.result()
    with pytest.raises(StrettoError, match="rank 0 has not answered"):
        agree(store, 1, 4, Clock(SHORT), "", join)
    assert everybody(store, ["a", "b", "c", "d"]) == ["a,b,c,d"] * 4


def test_who_comes_too_late_comes_to_the_next_meeting() -> None:
    store = dist.HashStore()
    with pytest.raises(StrettoError, match="rank 1 did not arrive"):
        agree(store, 0, 2, Clock(SHORT), "", join)
    with ThreadPoolExecutor(1) as threads:
        late = threads.submit(agree, store, 1, 2, Clock(LONG), "b", join)
        while store.num_keys() < 2:  # until it waits in the round that is over
            time.sleep(0.001)
        assert agree(store, 0, 2, Clock(LONG), "a", join) == late.result() == "a,b"


def test_of_many_who_are_missing_some_are_named() -> None:
    line = r"ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 9 more did not arrive"
    with pytest.raises(StrettoError, match=line):
        agree(dist.HashStore(), 0, 20, Clock(SHORT), "", join)


def test_what_rank_0_cannot_decide_is_an_error_of_all() -> None:
    def refuse(words: Sequence[str]) -> str:
        raise StrettoError(f"{len(words)} are too many")

    store = dist.HashStore()
    with ThreadPoolExecutor(2) as threads:
        for one in [threads.submit(agree, store, rank, 2, Clock(LONG), "", refuse) for rank in range(2)]:
            with pytest.raises(StrettoError, match="2 are too many"):
                one.result()
    assert store.num_keys() == 0


class Killed(BaseException):
    """The process is dead. It does nothing more in the store, whatever handlers it has."""


class Mortal:
    """The store as one process sees it, which dies after `last` calls, or with the others."""

    def __init__(self, store: Any, death: threading.Event, last: float) -> None:
        self.store, self.death, self.last = store, death, last
        self.calls = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            self.calls += 1
            if self.calls > self.last:
                self.death.set()
            return self._call(name, *given)

        return call

    def wait(self, keys: list[str], _timeout: timedelta) -> None:
        """Wait in small steps, since the dead do not wait."""
        while not self._call("check", keys):
            self.death.wait(0.0005)

    def _call(self, name: str, *given: Any) -> Any:
        if self.death.is_set():
            raise Killed
        return getattr(self.store, name)(*given)


def attempt(stores: list[Any], victim: int, last: float) -> int:
    """Lets a rank die after `last` calls, and then all others, as a launcher does. Returns its calls."""
    death = threading.Event()
    processes = [
        Mortal(store, death, last if rank == victim else float("inf")) for rank, store in enumerate(stores)
    ]

    def live(rank: int) -> None:
        with contextlib.suppress(Killed):
            agree(processes[rank], rank, RANKS, Clock(LONG), f"old {rank}", join)

    with ThreadPoolExecutor(RANKS) as threads:
        list(threads.map(live, range(RANKS)))
    return processes[victim].calls


def make_store(kind: str, folder: Path) -> list[Any]:
    """A store for all attempts, as the agent of a launcher has it, and as each rank sees it."""
    if kind == "memory":
        return [dist.HashStore()] * RANKS
    if kind == "file":
        return [dist.FileStore(str(folder / "store"), -1) for _ in range(RANKS)]
    server = dist.TCPStore("127.0.0.1", 0, is_master=True)
    return [server, *(dist.TCPStore("127.0.0.1", server.port) for _ in range(1, RANKS))]


@pytest.mark.parametrize(
    ("kind", "times"),
    [
        ("memory", 5),
        ("file", 1),
        ("tcp", 1),
        *(pytest.param(kind, 100, marks=pytest.mark.long) for kind in ("memory", "file", "tcp")),
    ],
)
@pytest.mark.parametrize("victim", range(RANKS))
def test_a_job_that_died_at_any_point_stops_no_later_one(
    kind: str, times: int, victim: int, tmp_path: Path
) -> None:
    stores = make_store(kind, tmp_path)
    for last in itertools.count():
        for _ in range(times):
            calls = attempt(stores, victim, last)
            assert everybody(stores, ["a", "b", "c"]) == ["a,b,c"] * RANKS
        if calls <= last:
            break
    assert last >= 5


@pytest.mark.parametrize(("victim", "calls"), [(0, 5), (2, 2)])  # until rank 0 has all words
def test_a_rank_alone_may_be_replaced(victim: int, calls: int) -> None:
    for last in range(calls):
        store = dist.HashStore()
        words = [str(rank) if rank != victim else "new" for rank in range(RANKS)]
        with ThreadPoolExecutor(RANKS) as threads:
            all_ranks = [
                threads.submit(agree, store, rank, RANKS, Clock(LONG), words[rank], join)
                for rank in range(RANKS)
                if rank != victim
            ]
            with pytest.raises(Killed):
                agree(Mortal(store, threading.Event(), last), victim, RANKS, Clock(LONG), "old", join)
            all_ranks.append(threads.submit(agree, store, victim, RANKS, Clock(LONG), "new", join))
            assert [one.result() for one in all_ranks] == [",".join(words)] * RANKS
