# SPDX-License-Identifier: Apache-2.0
"""Compares calls of torch.distributed over the backends "stretto" and "gloo", in turns within one job.

    torchrun --nproc-per-node 2 benchmarks/torch_backends.py --collectives allreduce,broadcast
    mpirun -np 8 python benchmarks/torch_backends.py --link-rate 200mbit --json backends.json

25 MiB is a bucket of DistributedDataParallel. A size is that of the whole message: of an allgather's
result, of a reduce_scatter's input. All ranks begin a call together. Its time is the slowest rank's.
GLOO_SOCKET_IFNAME names the interface of gloo. With `--device cuda` the tensors are on a GPU, which all ranks
of a node share.
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.distributed as dist

import stretto.torch  # noqa: F401  registers the backend
import torch
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.support.estimates import estimate_median, speedup
from stretto.support.files import write_atomically
from stretto.support.json_files import document_text
from stretto.support.tables import print_rows
from stretto.support.units import format_bytes, format_seconds, parse_rate, parse_sizes

BACKENDS = ("stretto", "gloo")
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Calls that send nothing are timed together, so many at once.
CALLS_ALONE = 1000


def seconds_of_slowest(seconds: float) -> float:
    """Return the largest of all ranks' seconds."""
    slowest = torch.tensor(seconds, dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return float(slowest)


Call = Callable[[Any], Any]


def call_of(collective: str, whole: torch.Tensor) -> Call:
    """Return a call on a group, whose whole message is given."""
    part = whole.chunk(dist.get_world_size())[dist.get_rank()].clone()
    result = whole.clone()
    calls: dict[str, Call] = {
        "allreduce": lambda group: dist.all_reduce(whole, group=group),
        "broadcast": lambda group: dist.broadcast(whole, 0, group=group),
        "reduce": lambda group: dist.reduce(whole, 0, group=group),
        "allgather": lambda group: dist.all_gather_into_tensor(whole, part, group=group),
        "reduce_scatter": lambda group: dist.reduce_scatter_tensor(part, whole, group=group),
        "alltoall": lambda group: dist.all_to_all_single(result, whole, group=group),
        "barrier": lambda group: dist.barrier(group=group),
    }
    return calls[collective]


def elements_of(size: int, kind: torch.dtype, ranks: int) -> int:
    """Return the elements of a message of at least so many bytes, equally many for each rank."""
    return max(-(-size // (kind.itemsize * ranks)), 1) * ranks


def time_call(call: Call, group: Any, *, on_gpu: bool) -> float:
    """Return the seconds of one call that all ranks begin together."""
    dist.barrier()
    began = time.perf_counter()
    call(group)
    if on_gpu:
        torch.cuda.synchronize()  # gloo's result is there for the current stream only
    return seconds_of_slowest(time.perf_counter() - began)


def measure(
    groups: dict[str, Any], collective: str, tensor: torch.Tensor, repetitions: int
) -> dict[str, list[float]]:
    """Return seconds by backend. The backends take turns, and the order alternates."""
    seconds: dict[str, list[float]] = {name: [] for name in groups}
    call = call_of(collective, tensor)
    for group in groups.values():
        time_call(call, group, on_gpu=tensor.is_cuda)
    for repetition in range(repetitions):
        for name in BACKENDS if repetition % 2 == 0 else reversed(BACKENDS):
            seconds[name].append(time_call(call, groups[name], on_gpu=tensor.is_cuda))
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


def show(series: list[dict[str, Any]], alone: dict[str, list[float]], bounds: dict[str, LinkBound]) -> None:
    """Print a table, and a line with the cost of a call that sends nothing."""
    titles = [
        "collective",
        "type",
        "size",
        *(f"{name}, ms (95 %)" for name in BACKENDS),
        "speedup (95 %)",
        "of the bound",
    ]
    rows: list[list[str]] = []
    for one in series:
        medians = {name: estimate_median(one["seconds"][name]) for name in BACKENDS}
        bound = bounds.get(one["collective"])
        limit = bound.bandwidth(one["bytes"]) if bound else None
        part = f"{one['bytes'] / medians['stretto'].median / limit:.0%}" if limit else ""
        ratio = speedup(one["seconds"]["gloo"], one["seconds"]["stretto"])
        times = [medians[name].text(1e-3) for name in BACKENDS]
        rows.append([one["collective"], one["type"], format_bytes(one["bytes"]), *times, ratio.text(), part])
    print_rows(titles, rows)
    costs = ", ".join(f"{name} {format_seconds(estimate_median(alone[name]).median)}" for name in BACKENDS)
    print(f"A call in a group of one rank: {costs}")


def main() -> None:
    """Measure, print, and write the file."""
    parser = argparse.ArgumentParser(description="Compare the backends stretto and gloo within one job.")
    parser.add_argument("--sizes", type=parse_sizes, default=parse_sizes("4KiB,64KiB,1MiB,25MiB"))
    parser.add_argument(
        "--collectives",
        type=lambda text: text.split(","),
        default=["allreduce"],
        help="allreduce, broadcast, reduce, allgather, reduce_scatter, alltoall, barrier",
    )
    parser.add_argument(
        "--types", type=lambda text: text.split(","), default=list(TYPES), help="float32,bfloat16"
    )
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
            "collective": collective,
            "type": kind,
            "bytes": bytes_,
            "seconds": measure(
                groups,
                collective,
                torch.zeros(elements_of(bytes_, TYPES[kind], size), dtype=TYPES[kind], device=options.device),
                options.repetitions,
            ),
        }
        for collective in options.collectives
        for kind in options.types
        for bytes_ in (options.sizes if collective != "barrier" else [0])
    ]
    of_each_rank = [groups_of([one]) for one in range(size)]
    dist.barrier()
    alone = measure_alone(of_each_rank[rank], options.repetitions) if rank == 0 else {}
    dist.barrier()
    if rank == 0:
        ppn = list(Counter(names).values())
        bounds = {
            name: LinkBound.for_lab(options.link_rate, COLLECTIVES[name], ppn)
            for name in options.collectives
            if options.link_rate and name in COLLECTIVES
        }
        show(series, alone, bounds)
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
