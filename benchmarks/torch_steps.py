# SPDX-License-Identifier: Apache-2.0
"""Compares steps of DistributedDataParallel over the backends "stretto" and "gloo", in turns within one job.

    mpirun -np 8 python benchmarks/torch_steps.py --model resnet110 --json steps.json

Both backends train the same network with the same weights and images. All ranks begin a step (forward and
backward) together. Its time is the slowest rank's; the processor time is the mean of the ranks.
GLOO_SOCKET_IFNAME names the interface of gloo.
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from pathlib import Path
from typing import Any

import torch.distributed as dist
from rich.table import Table
from torch.nn.parallel import DistributedDataParallel
from torch_backends import BACKENDS, groups_of, seconds_of_slowest, with_interval

import torch
from stretto.spec.architectures import ARCHITECTURES
from stretto.support.console import console_for
from stretto.support.estimates import estimate_median, speedup
from stretto.support.files import write_atomically
from stretto.support.json_files import document_text
from stretto.workers import torch_network
from stretto.workers.images import Source, find_source


def networks_of(model: str, groups: dict[str, Any]) -> dict[str, DistributedDataParallel]:
    """Return the same network for each backend."""
    networks = {}
    for name, group in groups.items():
        torch.manual_seed(1)
        network = torch_network.build(ARCHITECTURES[model]())
        networks[name] = DistributedDataParallel(network, process_group=group)
    return networks


def time_step(
    network: DistributedDataParallel, images: torch.Tensor, labels: torch.Tensor
) -> dict[str, float]:
    """Return the seconds of one step: the slowest rank's, and the mean processor time of the ranks."""
    dist.barrier()
    began, before = time.perf_counter(), time.process_time()
    network.zero_grad()
    torch.nn.functional.cross_entropy(network(images), labels).backward()
    seconds = time.perf_counter() - began
    processor = torch.tensor(time.process_time() - before, dtype=torch.float64)
    dist.all_reduce(processor)
    return {"step": seconds_of_slowest(seconds), "processor": float(processor) / dist.get_world_size()}


def measure(
    networks: dict[str, DistributedDataParallel], source: Source, batch: int, steps: int
) -> dict[str, dict[str, list[float]]]:
    """Return times by backend, in turns of alternating order; the first step of each does not count."""
    times: dict[str, dict[str, list[float]]] = {name: {"step": [], "processor": []} for name in networks}
    for step in range(steps + 1):
        images, labels = source.batch(1, dist.get_rank(), step, batch)
        inputs = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(labels)
        for name in BACKENDS if step % 2 == 0 else reversed(BACKENDS):
            for kind, seconds in time_step(networks[name], *inputs).items():
                if step > 0:
                    times[name][kind].append(seconds)
    return times


def show(times: dict[str, dict[str, list[float]]]) -> None:
    """Print a row for each backend, and the ratio of the steps."""
    table = Table("backend", "step, ms (95 %)", "processor time of a rank, ms (95 %)")
    for name in BACKENDS:
        table.add_row(
            name, *(with_interval(estimate_median(times[name][kind]), 1e3) for kind in ("step", "processor"))
        )
    console_for(table).print(table)
    ratio = speedup(times["gloo"]["step"], times["stretto"]["step"])
    print(f"gloo's step is {with_interval(ratio)} times as long as stretto's")


def main() -> None:
    """Measure, print, and write the file."""
    parser = argparse.ArgumentParser(
        description="Compare steps by the backends stretto and gloo within one job."
    )
    parser.add_argument("--model", choices=list(ARCHITECTURES), default="resnet110")
    parser.add_argument("--batch", type=int, default=2, help="images of each rank (2 unless given)")
    parser.add_argument("--steps", type=int, default=30, help="steps by each backend (30 unless given)")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    if options.steps < 1 or options.batch < 1:
        parser.error("--steps and --batch must be at least 1")
    torch.set_num_threads(1)

    dist.init_process_group("stretto")
    size = dist.get_world_size()
    groups = groups_of(list(range(size)))
    networks = networks_of(options.model, groups)
    source = find_source("synthetic-cifar10", ARCHITECTURES[options.model]())
    times = measure(networks, source, options.batch, options.steps)
    if dist.get_rank() == 0:
        show(times)
        if options.json:
            content = {
                "torch": torch.__version__,
                "ranks": size,
                "model": options.model,
                "batch": options.batch,
                "seconds": times,
            }
            write_atomically(
                options.json, document_text("stretto-torch-steps", sys.argv, socket.gethostname(), content)
            )
    # A network keeps the threads of its group alive, and gloo's must not outlive the interpreter.
    networks.clear()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
