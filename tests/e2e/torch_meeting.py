# SPDX-License-Identifier: Apache-2.0
"""How jobs of the backend "stretto" without MPI begin, by cases. A rank's program."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.multiprocessing

import torch
from stretto.support.errors import StrettoError

# Not exported as mypy wants it.
dist: Any = importlib.import_module("torch.distributed")

BACKEND = os.environ.get("BACKEND", "stretto")
LONG = timedelta(seconds=120)
SHORT = timedelta(seconds=5)


def module(name: str) -> Any:
    """A module of the backend. (To import it before the first group begins MPI, under an MPI launcher.)"""
    return importlib.import_module(f"stretto.torch.{name}")


def check_total(ranks: int, *, is_by_store: bool = True) -> None:
    """The job works, and the messages are Stretto's own or MPI's."""
    tensor = torch.ones(1000)
    dist.all_reduce(tensor)
    assert torch.all(tensor == ranks), tensor
    assert module("extension").load_extension().is_in_store_job() == is_by_store


def restarted() -> None:
    """Each attempt but the last has a rank that is killed where it leaves most in the launcher's store."""
    meeting = module("meeting")
    attempt, rank = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["RANK"])
    waits = "_wait_for_words" if rank == 0 else "_read"
    if (attempt, rank) in ((0, 2), (1, 0)):
        wait = getattr(meeting, waits)

        def die(store: Any, name: str, *others: Any) -> Any:
            if name != meeting._ROUND:
                os.kill(os.getpid(), signal.SIGKILL)
            return wait(store, name, *others)

        setattr(meeting, waits, die)
    dist.init_process_group(BACKEND, timeout=LONG)
    check_total(3)


def two_worlds() -> None:
    """A program makes several worlds of the ranks of an MPI launcher, by MPI if that has begun."""
    is_by_mpi = "BEFORE" in os.environ
    if is_by_mpi:
        importlib.import_module(os.environ["BEFORE"])
    of_launcher = int(os.environ["PMI_RANK"])
    world, rank = divmod(of_launcher, 2)
    store = dist.FileStore(f"{os.environ['MEETING']}-{world}", 2)
    dist.init_process_group(BACKEND, store=store, rank=rank, world_size=2, timeout=LONG)
    tensor = torch.full((5,), of_launcher + 1.0)
    dist.all_reduce(tensor)
    assert torch.all(tensor == [1 + 2, 3 + 4][world]), tensor
    check_total(2, is_by_store=not is_by_mpi)


def reversed_ranks() -> None:
    """The program's numbers of the ranks are not the launcher's, although one of them is."""
    rank = 2 - int(os.environ["PMI_RANK"])
    store = dist.FileStore(os.environ["MEETING"], 3)
    dist.init_process_group(BACKEND, store=store, rank=rank, world_size=3, timeout=LONG)
    check_total(3)


def spawning() -> None:
    """A single rank of an MPI launcher starts the ranks itself."""
    spawn: Any = torch.multiprocessing.spawn  # type: ignore[attr-defined]
    for ranks in (2, 1):
        spawn(of_rank, (ranks, f"file://{os.environ['MEETING']}-{ranks}"), nprocs=ranks)


def of_rank(rank: int, ranks: int, url: str) -> None:
    importlib.import_module("stretto.torch")
    dist.init_process_group(BACKEND, init_method=url, rank=rank, world_size=ranks, timeout=LONG)
    check_total(ranks)
    dist.destroy_process_group()


def alike_names() -> None:
    """Two threads make groups of the same ranks, in another order on each rank, whatever the names are."""
    # The hashes of both names that were tags once are equal.
    names = ["aadab", "abada"]
    rank = int(os.environ["RANK"])
    dist.init_process_group(BACKEND, timeout=LONG)
    its = module("extension").load_extension()
    make_group = its.make_group
    first, second = names if rank == 0 else names[::-1]
    has_begun = threading.Event()

    def make(*given: Any) -> Any:
        if given[3] == second:
            has_begun.wait()
        if given[3] == first:
            # The group's number is taken soon after this, in C++.
            threading.Timer(0.5, has_begun.set).start()
        return make_group(*given)

    its.make_group = make
    made: dict[str, Any] = {}

    def make_one(name: str) -> None:
        store = dist.PrefixStore(name, clients[name])
        made[name] = module("groups")._Group(store, rank, [0, 1], LONG, name).make()

    server = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    clients = {name: dist.TCPStore(*server) for name in names}
    threads = [threading.Thread(target=make_one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, name in enumerate(names):
        tensor = torch.full((3,), 10.0**number)
        made[name].allreduce([tensor]).wait()
        assert torch.all(tensor == 2 * 10**number), (name, tensor)
    for name in names:
        made[name].shutdown()


def meet() -> None:
    """Wait for the other ranks, apart from what is tested: loading PyTorch may take one seconds more."""
    store = dist.FileStore(os.environ["MEETING"], -1)
    store.set(os.environ["RANK"], "")
    store.wait([str(rank) for rank in range(int(os.environ["WORLD_SIZE"]))], LONG)


def stopped() -> None:
    """A rank stops when all have met in the store: before the job begins, or before the group is made."""
    its, place = module("extension").load_extension(), module("place")
    meet()
    if os.environ["RANK"] == "1":
        of, name = (place, "_begin") if os.environ["BEFORE"] == "job" else (its, "make_group")
        setattr(of, name, lambda *_: os.kill(os.getpid(), signal.SIGSTOP))
    try:
        dist.init_process_group(BACKEND, timeout=SHORT)
    except (RuntimeError, StrettoError) as error:
        print(f"failed: {str(error).splitlines()[0]}", flush=True)


def idle() -> None:
    """No rank communicates for as long as the test wants."""
    dist.init_process_group(BACKEND, timeout=LONG)
    check_total(2)
    meeting = os.environ["MEETING"]
    Path(f"{meeting}-idle-{os.environ['RANK']}").touch()
    while not Path(f"{meeting}-goes-on").exists():
        time.sleep(0.1)
    check_total(2)


CASES: dict[str, Callable[[], None]] = {
    "restarted": restarted,
    "two worlds": two_worlds,
    "reversed ranks": reversed_ranks,
    "spawning": spawning,
    "alike names": alike_names,
    "stopped": stopped,
    "idle": idle,
}


def main() -> None:
    """Run a case, and destroy the default group that it leaves."""
    torch.set_num_threads(1)
    CASES[sys.argv[1]]()
    if dist.is_initialized():
        dist.destroy_process_group()
    print("right", flush=True)


if __name__ == "__main__":
    main()
