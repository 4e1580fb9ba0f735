# SPDX-License-Identifier: Apache-2.0
"""Compares how long jobs and groups take to begin and to end, with the backends "stretto" and "gloo".

    python benchmarks/torch_groups.py --ranks 2,4 --turns 7

The ranks of each measurement are new processes on this node, which have loaded PyTorch and had a job before.
The backends take turns. A time is that of the slowest rank.
"""

from __future__ import annotations

import argparse
import itertools
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch.distributed as dist

import stretto.torch  # noqa: F401  registers the backend
import torch
from stretto.support.estimates import estimate_median, speedup
from stretto.support.tables import print_rows
from stretto.torch.extension import load_extension

BACKENDS = ("stretto", "gloo")
CYCLES, GROUPS, TEMPORARY_GROUPS = 15, 60, 40
# No measurement takes so long.
LONGEST = 120


class Rank:
    """A rank of a measurement. Its jobs share a store, each with a prefix of its own.

    To make a store is left out: PyTorch's client waits for a second if it comes before the server.
    """

    def __init__(self, backend: str, rank: int, ranks: int, port: int) -> None:
        self.backend, self.rank, self.ranks = backend, rank, ranks
        patience = timedelta(seconds=LONGEST)
        self.store = dist.TCPStore("127.0.0.1", port, ranks, is_master=rank == 0, timeout=patience)
        self.jobs = itertools.count()

    def begin(self) -> None:
        """Begin a job."""
        dist.init_process_group(
            self.backend,
            store=dist.PrefixStore(f"job {next(self.jobs)}", self.store),
            rank=self.rank,
            world_size=self.ranks,
            timeout=timedelta(seconds=LONGEST),
        )

    def cycle(self) -> None:
        """Begin a job, make a call, and end the job."""
        self.begin()
        dist.all_reduce(torch.ones(9))
        dist.destroy_process_group()

    def receive(self) -> Any:
        """Begin to receive what never comes."""
        return dist.irecv(torch.empty(4), (self.rank + 1) % self.ranks)


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def jobs(rank: Rank) -> float:
    """Return the seconds of several jobs, one after the other."""

    def run() -> None:
        for _ in range(CYCLES):
            rank.cycle()

    return seconds_of(run)


def first_calls(rank: Rank) -> float:
    """Return the seconds of the first calls of groups."""
    rank.begin()
    groups = [dist.new_group() for _ in range(GROUPS)]
    dist.barrier()

    def run() -> None:
        for group in groups:
            dist.all_reduce(torch.ones(9), group=group)

    seconds = seconds_of(run)
    dist.destroy_process_group()
    return seconds


def temporary_groups(rank: Rank) -> float:
    """Return the seconds of groups that are made, used once, and destroyed."""
    rank.begin()
    dist.barrier()

    def run() -> None:
        for _ in range(TEMPORARY_GROUPS):
            group = dist.new_group()
            dist.all_reduce(torch.ones(9), group=group)
            dist.destroy_process_group(group)

    seconds = seconds_of(run)
    dist.destroy_process_group()
    return seconds


def end_with_receive(rank: Rank) -> float:
    """Return the seconds in which a job ends in which a message never came."""
    rank.begin()
    work = rank.receive()
    dist.barrier()
    seconds = seconds_of(dist.destroy_process_group)
    del work
    return seconds


def end_of_process(rank: Rank) -> float:
    """Return 0: the process ends after this, while a thread waits for a message."""
    rank.begin()
    waits = threading.Event()

    def wait() -> None:
        work = rank.receive()
        waits.set()
        work.wait()

    threading.Thread(target=wait, daemon=True).start()
    waits.wait()
    dist.barrier()
    return 0.0


CASES = {
    f"{CYCLES} jobs": jobs,
    f"first calls of {GROUPS} groups": first_calls,
    f"{TEMPORARY_GROUPS} temporary groups": temporary_groups,
    "end of a job with a receive": end_with_receive,
    "end of a process with a receive": end_of_process,
}


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def read_line(file: int) -> str:
    """Return what a rank says."""
    if not select.select([file], [], [], LONGEST)[0]:
        sys.exit("a rank has said nothing for too long")
    return os.read(file, 100).decode()


def measure(case: Callable[[Rank], float], backend: str, ranks: int) -> float:
    """Return the seconds of a case on the slowest rank, until all processes have ended if it says 0."""
    port = free_port()
    processes, files = [], []
    for number in range(ranks):
        reads, writes = os.pipe()
        process = os.fork()
        if process == 0:
            rank = Rank(backend, number, ranks, port)
            rank.cycle()
            os.write(writes, f"{case(rank)}\n".encode())
            sys.exit()
        os.close(writes)
        processes.append(process)
        files.append(reads)
    said = [read_line(file) for file in files]
    came = time.perf_counter()
    for process, file in zip(processes, files, strict=True):
        os.close(file)
        # With gloo, the process of a thread that waits ends by an abort.
        if os.waitpid(process, 0)[1] != 0 and case is not end_of_process:
            sys.exit(f"a rank has failed: {backend}, {case.__name__}")
    return max(map(float, said)) or time.perf_counter() - came


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Compare how long jobs and groups take to begin and end.")
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks, with commas")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--case", default="", help="a word of the names of the cases to be measured")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["STRETTO_QUIET"] = "1"
    load_extension()  # it may have to be built
    rows = []
    for ranks in map(int, options.ranks.split(",")):
        for name, case in CASES.items():
            if options.case not in name:
                continue
            seconds: dict[str, list[float]] = {backend: [] for backend in BACKENDS}
            for turn in range(options.turns):
                for backend in BACKENDS if turn % 2 == 0 else reversed(BACKENDS):
                    seconds[backend].append(measure(case, backend, ranks))
            times = [estimate_median(seconds[backend]).text(1e-3) for backend in BACKENDS]
            ratio = speedup(seconds["gloo"], seconds["stretto"]).text()
            rows.append([str(ranks), name, *times, ratio, f"{os.getloadavg()[0]:.1f}"])
    print_rows(
        ["ranks", "case", *(f"{name}, ms (95 %)" for name in BACKENDS), "speedup (95 %)", "load"], rows
    )


if __name__ == "__main__":
    main()
