# SPDX-License-Identifier: Apache-2.0
"""Measures allreduce beside computing threads, as in a training: by the library and by Stretto, in turns.

    stretto lab run --mpi openmpi --stretto -- python benchmarks/waiting.py --size 4MiB --calls 2

Each rank has a thread that multiplies matrices and a thread that calls MPI_Allreduce meanwhile. The program
prints when each of them finished on rank 0, as medians.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time

import mpi4py
import numpy as np

mpi4py.rc.thread_level = "multiple"
from mpi4py import MPI  # noqa: E402  must follow mpi4py.rc
from numpy.typing import NDArray  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from stretto.support.units import parse_bytes  # noqa: E402
from stretto_research.workers.switch import force_allreduce  # noqa: E402

WIDTH = 192


def compute(products: int) -> None:
    """Do one thread's share of a step."""
    matrix = np.ones((WIDTH, WIDTH), np.float32)
    for _ in range(products):
        matrix @ matrix


class Calls(threading.Thread):
    """A thread that makes calls as Horovod's thread does."""

    def __init__(self, comm: MPI.Comm, buffer: NDArray[np.float32], count: int) -> None:
        super().__init__()
        self._comm, self._buffer, self._count = comm, buffer, count
        self.ended = 0.0

    def run(self) -> None:
        """Make the calls, one after the other."""
        for _ in range(self._count):
            self._comm.Allreduce(MPI.IN_PLACE, self._buffer)
        self.ended = time.perf_counter()


def measure(comm: MPI.Comm, size: int, calls: int, products: int) -> tuple[float, float]:
    """Return the seconds until the calls ended, and until the computation ended."""
    thread = Calls(comm, np.zeros(size // 4, np.float32), calls)
    MPI.COMM_WORLD.Barrier()
    began = time.perf_counter()
    thread.start()
    compute(products)
    computed = time.perf_counter()
    thread.join()
    return thread.ended - began, computed - began


def main() -> None:
    """Read the options, measure and print."""
    parser = argparse.ArgumentParser(description="Allreduce beside computing threads.")
    parser.add_argument("--size", type=parse_bytes, default=4 << 20)
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--products", type=int, default=1500, help="matrix products of the computing thread")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--specs", default="native,auto")
    options = parser.parse_args()

    comm = MPI.COMM_WORLD.Dup()
    specs = options.specs.split(",")
    seconds: dict[str, list[tuple[float, float]]] = {spec: [] for spec in specs}
    with threadpool_limits(1):
        for turn in range(options.rounds + 1):
            for spec in specs:
                force_allreduce(spec)
                found = measure(comm, options.size, options.calls, options.products)
                if turn > 0:  # the first round warms up
                    seconds[spec].append(found)
    if comm.rank == 0:
        for spec, found in seconds.items():
            calls, computation = (statistics.median(column) for column in zip(*found, strict=True))
            print(f"{spec}: calls ended after {calls:.3f} s, computation after {computation:.3f} s")


if __name__ == "__main__":
    main()
