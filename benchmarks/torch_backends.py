# SPDX-License-Identifier: Apache-2.0
"""Compares torch.distributed's allreduce over the backends "stretto" and "gloo", in turns within one job.

    mpirun -np 8 python benchmarks/torch_backends.py --link-rate 200mbit --json backends.json

25 MiB is a bucket of DistributedDataParallel. All ranks begin a call together. The time of a call is the
slowest rank's. GLOO_SOCKET_IFNAME names the interface of gloo. With `--device cuda` the tensors are on a GPU,
which all ranks of a node share.
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch.distributed as dist
from rich.table import Table

import stretto.torch  # noqa: F401  registers the backend
import torch
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.support.console import console_for
from stretto.support.estimates import Estimate, estimate_median, speedup
from stretto.support.files import write_atomically
from stretto.support.json_files import document_text
from stretto.support.units import format_bytes, format_seconds, parse_rate, parse_sizes, three_digits

BACKENDS = ("stretto", "gloo")
TYPES = (torch.float32, torch.bfloat16)
# Calls that send nothing are timed together, so many at once.
CALLS_ALONE = 1000


def seconds_of_slowest(seconds: float) -> float:
    """Return the largest of all ranks' seconds."""
    slowest = torch.tensor(seconds, dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return float(slowest)


def time_call(group: Any, tensor: torch.Tensor) -> float:
    """Return the seconds of one call that all ranks begin together."""
    dist.barrier()
    began = time.perf_counter()
    dist.all_reduce(tensor, group=group)
    if tensor.is_cuda:
        torch.cuda.synchronize()  # gloo's result is there for the current stream only
    return seconds_of_slowest(time.perf_counter() - began)


def measure(groups: dict[str, Any], tensor: torch.Tensor, repetitions: int) -> dict[str, list[float]]:
    """Return seconds by backend. The backends take turns, and the order alternates."""
    seconds: dict[str, list[float]] = {name: [] for name in groups}
    for group in groups.values():
        time_call(group, tensor)
    for repetition in range(repetitions):
        for name in BACKENDS if repetition % 2 == 0 else reversed(BACKENDS):
            seconds[name].append(time_call(groups[name], tensor))
    return seconds


def measure_alone(groups: dict[str, Any], repetitions: int) -> dict[str, list[float]]:
    """Return seconds of a call in a group of one rank, which sends nothing: the cost of the layers above."""
    tensor = torch.zeros(1)
    seconds: dict[str, list[float]] = {name: [] for name in groups}
    for _ in range(repetitions):
        for name, group in groups.items():
            began = time.perf_counter()
            for _ in range(CALLS_ALONE):
                dist.all_reduce(tensor, group=group)
            seconds[name].append((time.perf_counter() - began) / CALLS_ALONE)
    return seconds


def groups_of(ranks: list[int]) -> dict[str, Any]:
    """Return a group for each backend. All ranks must call this in the same order."""
    return {name: dist.new_group(ranks, backend=name) for name in BACKENDS}


def with_interval(estimate: Estimate, factor: float = 1.0) -> str:
    """Return a median and its interval as text."""
    median, low, high = (
        three_digits(value * factor) for value in (estimate.median, estimate.low, estimate.high)
    )
    return f"{median} ({low}-{high})"


def show(series: list[dict[str, Any]], alone: dict[str, list[float]], bound: LinkBound | None) -> None:
    """Print a table, and a line with the cost of a call that sends nothing."""
    table = Table(
        "type", "size", *(f"{name}, ms (95 %)" for name in BACKENDS), "speedup (95 %)", "of the bound"
    )
    for one in series:
        medians = {name: estimate_median(one["seconds"][name]) for name in BACKENDS}
        limit = bound.bandwidth(one["bytes"]) if bound else None
        part = f"{one['bytes'] / medians['stretto'].median / limit:.0%}" if limit else ""
        ratio = speedup(one["seconds"]["gloo"], one["seconds"]["stretto"])
        times = [with_interval(medians[name], 1e3) for name in BACKENDS]
        table.add_row(one["type"], format_bytes(one["bytes"]), *times, with_interval(ratio), part)
    console_for(table).print(table)
    costs = ", ".join(f"{name} {format_seconds(estimate_median(alone[name]).median)}" for name in BACKENDS)
    print(f"A call in a group of one rank: {costs}")


def main() -> None:
    """Measure, print, and write the file."""
    parser = argparse.ArgumentParser(description="Compare the backends stretto and gloo within one job.")
    parser.add_argument("--sizes", type=parse_sizes, default=parse_sizes("4KiB,64KiB,1MiB,25MiB"))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument(
        "--link-rate",
        type=parse_rate,
        help="of each node, such as 200mbit: adds the part of the bound",
    )
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    torch.set_num_threads(1)

    dist.init_process_group("stretto")
    rank, size = dist.get_rank(), dist.get_world_size()
    names: list[Any] = [None] * size
    dist.all_gather_object(names, socket.gethostname())
    groups = groups_of(list(range(size)))
    series = [
        {
            "type": str(kind).removeprefix("torch."),
            "bytes": bytes_,
            "seconds": measure(
                groups,
                torch.zeros(bytes_ // kind.itemsize, dtype=kind, device=options.device),
                options.repetitions,
            ),
        }
        for kind in TYPES
        for bytes_ in options.sizes
    ]
    of_each_rank = [groups_of([one]) for one in range(size)]
    dist.barrier()
    alone = measure_alone(of_each_rank[rank], options.repetitions) if rank == 0 else {}
    dist.barrier()
    if rank == 0:
        ppn = list(Counter(names).values())
        bound = (
            LinkBound.for_lab(options.link_rate, COLLECTIVES["allreduce"], ppn) if options.link_rate else None
        )
        show(series, alone, bound)
        if options.json:
            content = {
                "torch": torch.__version__,
                "device": options.device,
                "ranks": size,
                "ppn": ppn,
                "link_rate": options.link_rate,
                "series": series,
                "alone": alone,
            }
            write_atomically(
                options.json, document_text("stretto-torch-backends", sys.argv, socket.gethostname(), content)
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
