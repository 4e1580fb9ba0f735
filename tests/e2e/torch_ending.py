# SPDX-License-Identifier: Apache-2.0
"""Regular ways to end a job by the backend "stretto", by name. A rank's program."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import torch.distributed as dist

import stretto.torch  # noqa: F401  registers the backend
import torch


def daemon() -> None:
    """A thread still waits for a message that never comes."""
    other = (dist.get_rank() + 1) % dist.get_world_size()
    threading.Thread(target=lambda: dist.recv(torch.empty(4), other), daemon=True).start()
    time.sleep(0.3)
    dist.barrier()


def child() -> None:
    """A child by fork ends by itself."""
    dist.all_reduce(torch.ones(4))
    pid = os.fork()
    if pid == 0:
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    dist.barrier()


def unwaited() -> None:
    """Nobody waits for a message, whose receiver comes later."""
    rank = dist.get_rank()
    if rank == 1:
        dist.isend(torch.ones(300_000), 0)
    elif rank == 0:
        time.sleep(1)
        tensor = torch.zeros(300_000)
        dist.recv(tensor, 1)
        assert torch.all(tensor == 1)


def destroyed() -> None:
    """Groups are destroyed while calls are under way, of the library and of Stretto."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for _ in range(10):
        group = dist.new_group()
        if rank == 0:
            time.sleep(0.02)
        tensor, parts = torch.ones(100_000), [torch.empty(9) for _ in range(size)]
        works: list[Any] = [
            dist.all_reduce(tensor, group=group, async_op=True),
            dist.gather(torch.ones(9), parts if rank == 0 else None, group=group, async_op=True),
            dist.barrier(group=group, async_op=True),
        ]
        dist.destroy_process_group(group)
        for work in works:
            work.wait()
        assert torch.all(tensor == size)
        assert rank != 0 or all(torch.all(part == 1) for part in parts)
    dist.destroy_process_group()


CASES: dict[str, Callable[[], None]] = {
    "daemon": daemon,
    "child": child,
    "unwaited": unwaited,
    "destroyed": destroyed,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("stretto")
    is_first = dist.get_rank() == 0
    CASES[sys.argv[1]]()
    if is_first:
        print("right", flush=True)
