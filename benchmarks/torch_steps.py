# SPDX-License-Identifier: Apache-2.0
"""Compares steps of a training over the backends "stretto" and "gloo", in turns within one job.

    mpirun -np 8 python benchmarks/torch_steps.py --model resnet110 --json steps.json
    torchrun --nnodes 2 … benchmarks/torch_steps.py --model gpt2 --batch 1 --steps 10 --json steps.json

Networks of images are trained by DistributedDataParallel; "gpt2" by FSDP (`fully_shard`), which spreads the
parameters over the ranks. Both backends train the same network with the same weights and inputs, and so does
each rank "alone", which does not communicate. All ranks begin a step (forward and backward) together. Its
time is the slowest rank's; the processor time is the mean of the ranks. GLOO_SOCKET_IFNAME names the
interface of gloo.
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.distributed as dist
import torch_gpt2
from torch.nn.parallel import DistributedDataParallel
from torch_backends import groups_of, seconds_of_slowest

import torch
from stretto.support.estimates import estimate_median, speedup
from stretto.support.files import write_atomically
from stretto.support.json_files import document_text
from stretto.support.tables import print_rows
from stretto_research.networks.architectures import ARCHITECTURES
from stretto_research.workers import torch_network
from stretto_research.workers.images import find_source

Batch = tuple[torch.Tensor, torch.Tensor]
GPT2, ALONE = "gpt2", "alone"


@dataclass(frozen=True)
class Training:
    """What is trained: a network over a group, or alone, and the inputs and labels of a rank's step."""

    network: Callable[[Any], torch.nn.Module]
    batch: Callable[[int], Batch]


def images_training(model: str, batch: int) -> Training:
    """Return the training of a network of images, by DistributedDataParallel."""
    source = find_source("synthetic-cifar10", ARCHITECTURES[model]())

    def network(group: Any) -> torch.nn.Module:
        built = torch_network.build(ARCHITECTURES[model]())
        return DistributedDataParallel(built, process_group=group) if group else built

    def batch_of(step: int) -> Batch:
        images, labels = source.batch(1, dist.get_rank(), step, batch)
        return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(labels)

    return Training(network, batch_of)


def words_training(layers: int, sequences: int, length: int) -> Training:
    """Return the training of a network of words, by FSDP."""

    def network(group: Any) -> torch.nn.Module:
        built = torch_gpt2.GPT2(layers)
        if group:
            torch_gpt2.shard(built, group)
        return built

    return Training(network, lambda step: torch_gpt2.batch(dist.get_rank(), step, sequences, length))


def time_step(network: torch.nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
    """Return the seconds of one step: the slowest rank's, and the mean processor time of the ranks."""
    dist.barrier()
    began, before = time.perf_counter(), time.process_time()
    network.zero_grad()
    torch.nn.functional.cross_entropy(network(inputs), labels).backward()
    seconds = time.perf_counter() - began
    processor = torch.tensor(time.process_time() - before, dtype=torch.float64)
    dist.all_reduce(processor)
    return {"step": seconds_of_slowest(seconds), "processor": float(processor) / dist.get_world_size()}


def measure(training: Training, steps: int) -> dict[str, dict[str, list[float]]]:
    """Return times by backend, in turns of alternating order; the first step of each does not count."""
    groups = {**groups_of(list(range(dist.get_world_size()))), ALONE: None}
    # They end with this function: a network keeps the threads of its group alive, and gloo's must not outlive
    # the interpreter.
    networks = {}
    for name, group in groups.items():
        torch.manual_seed(1)
        networks[name] = training.network(group)
    times: dict[str, dict[str, list[float]]] = {name: {"step": [], "processor": []} for name in networks}
    for step in range(steps + 1):
        batch = training.batch(step)
        for name in networks if step % 2 == 0 else reversed(networks):
            for kind, seconds in time_step(networks[name], *batch).items():
                if step > 0:
                    times[name][kind].append(seconds)
    return times


def show(times: dict[str, dict[str, list[float]]]) -> None:
    """Print a row for each, and the ratio of the steps.

    What a step takes longer than one without messages is communication that no computation hides.
    """
    titles = ["backend", "step, ms (95 %)", "processor time of a rank, ms (95 %)", "communication"]
    rows: list[list[str]] = []
    alone = estimate_median(times[ALONE]["step"]).median
    for name in times:
        step, processor = (estimate_median(times[name][kind]) for kind in ("step", "processor"))
        part = f"{1 - alone / step.median:.0%}" if name != ALONE else ""
        rows.append([name, step.text(1e-3), processor.text(1e-3), part])
    print_rows(titles, rows)
    ratio = speedup(times["gloo"]["step"], times["stretto"]["step"])
    print(f"gloo's step is {ratio.text()} times as long as stretto's")


def main() -> None:
    """Measure, print, and write the file."""
    parser = argparse.ArgumentParser(
        description="Compare steps by the backends stretto and gloo within one job."
    )
    parser.add_argument("--model", choices=[*ARCHITECTURES, GPT2], default="resnet110")
    parser.add_argument(
        "--batch", type=int, default=2, help="images or sequences of each rank (2 unless given)"
    )
    parser.add_argument("--layers", type=int, default=torch_gpt2.LAYERS, help="of gpt2 (12 unless given)")
    parser.add_argument("--length", type=int, default=128, help="words of a sequence (128 unless given)")
    parser.add_argument("--steps", type=int, default=30, help="steps by each backend (30 unless given)")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    if min(options.steps, options.batch, options.layers) < 1 or not 1 <= options.length <= torch_gpt2.CONTEXT:
        parser.error("--steps, --batch, --layers and --length must be at least 1, --length at most 1024")
    torch.set_num_threads(1)

    dist.init_process_group("stretto")
    if options.model == GPT2:
        training = words_training(options.layers, options.batch, options.length)
    else:
        training = images_training(options.model, options.batch)
    times = measure(training, options.steps)
    if dist.get_rank() == 0:
        show(times)
        if options.json:
            content = {
                "torch": torch.__version__,
                "ranks": dist.get_world_size(),
                "model": options.model,
                "batch": options.batch,
                **({"layers": options.layers, "length": options.length} if options.model == GPT2 else {}),
                "seconds": times,
            }
            write_atomically(
                options.json, document_text("stretto-torch-steps", sys.argv, socket.gethostname(), content)
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
