# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on scikit-learn's digits by PyTorch's DistributedDataParallel.

torchrun --nproc-per-node 2 examples/train_digits_torch.py
mpirun -np 2 python examples/train_digits_torch.py
mpirun -np 2 python examples/train_digits_torch.py --backend gloo     # for comparison
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch.distributed as dist
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn.parallel import DistributedDataParallel

# Registers the backend "stretto", and sets the variables that init_process_group needs with any backend.
import stretto.torch  # noqa: F401
import torch


def train(steps: int, batch: int, width: int, seed: int) -> tuple[float, float]:
    """Return the images per second of all ranks, and the part of the test images that is recognized."""
    rank, size = dist.get_rank(), dist.get_world_size()
    digits = load_digits()
    parts = train_test_split(digits.data / 16, digits.target, test_size=0.2, random_state=seed)
    images, test_images, labels, test_labels = (torch.tensor(part) for part in parts)
    images, test_images = images.float(), test_images.float()

    torch.manual_seed(seed)
    layers = [torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()]
    model = DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(width, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    mine = torch.arange(rank, len(images), size)
    generator = torch.Generator().manual_seed(1000 * seed + rank)

    dist.barrier()
    began = time.perf_counter()
    for _ in range(steps):
        chosen = mine[torch.randint(len(mine), (batch,), generator=generator)]
        optimizer.zero_grad()
        loss_of(model(images[chosen]), labels[chosen]).backward()
        optimizer.step()
    dist.barrier()
    seconds = time.perf_counter() - began

    with torch.no_grad():
        recognized = (model.module(test_images).argmax(1) == test_labels).float().mean()
    return steps * batch * size / seconds, float(recognized)


def main() -> None:
    """Read the options, train and print."""
    parser = argparse.ArgumentParser(description="Train a network on digits by DistributedDataParallel.")
    parser.add_argument("--backend", choices=["stretto", "gloo", "mpi"], default="stretto")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32, help="images of each rank in a step")
    parser.add_argument("--width", type=int, default=1024, help="width of the two hidden layers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()

    torch.set_num_threads(1)  # the ranks of a node share its cores
    dist.init_process_group(options.backend)
    speed, accuracy = train(options.steps, options.batch, options.width, options.seed)
    if dist.get_rank() == 0:
        print(
            f"{options.backend}, {dist.get_world_size()} ranks: accuracy {accuracy:.2%}, {speed:.1f} images/s"
        )
        if options.json:
            figures = {"samples_per_second": speed, "accuracy": accuracy}
            options.json.write_text(json.dumps(figures) + "\n", encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
