# SPDX-License-Identifier: Apache-2.0
"""Trains on scikit-learn's digits while ranks are killed. Those who are left go on in the same processes.

python examples/train_digits_shrinking.py --ranks 6 --kill 30,60,90,120,150 --png loss.png

The ranks are children of this program: a launcher that ends all ranks when one dies would end the training.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch.distributed as dist
import torch.multiprocessing
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel

import stretto.torch
import torch
from stretto.plots.drawing import draw_panels
from stretto.plots.panels import Axis, Curve, Panel, Scale

# The images of a step, of all ranks together. Each rank has as many, whether 1, 2, 3, 4, 5 or 6 are left.
BATCH = 240


def agree(network: torch.nn.Module, optimizer: torch.optim.Optimizer, losses: list[float]) -> list[float]:
    """Give all ranks the state of the one that is furthest. Return its losses.

    A rank may have ended a step that failed on another one.
    """
    steps: list[int] = [0] * dist.get_world_size()
    dist.all_gather_object(steps, len(losses))
    state: list[Any] = [network.state_dict(), optimizer.state_dict(), losses]
    dist.broadcast_object_list(state, src=max(range(len(steps)), key=steps.__getitem__))
    network.load_state_dict(state[0])
    optimizer.load_state_dict(state[1])
    return list(state[2])


def train(steps: int, kills: list[int]) -> list[float]:
    """Return the loss of each step."""
    digits = load_digits()
    images, labels = torch.tensor(digits.data / 16).float(), torch.tensor(digits.target)
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    model: DistributedDataParallel | None = None
    losses: list[float] = []
    while len(losses) < steps:
        step = len(losses)
        try:
            if model is None:
                losses = agree(network, optimizer, losses)
                model = DistributedDataParallel(network)
                continue
            rank, size = dist.get_rank(), dist.get_world_size()
            if step in kills and rank == size - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            mine = torch.randperm(len(images), generator=torch.Generator().manual_seed(step))[:BATCH][
                rank::size
            ]
            optimizer.zero_grad()
            loss = loss_of(model(images[mine]), labels[mine])
            loss.backward()
            total = loss.detach() / size
            dist.all_reduce(total)
            optimizer.step()
            losses.append(float(total))
        except RuntimeError:
            stretto.torch.shrink()
            model = None  # its buckets belong to the group that has ended
            kills = [kill for kill in kills if kill > step]
    return losses


def run_rank(rank: int, ranks: int, folder: str, steps: int, kills: list[int]) -> None:
    """Train as one rank. The one that is rank 0 at the end writes the losses."""
    torch.set_num_threads(1)
    dist.init_process_group("stretto", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    losses = train(steps, list(kills))
    if dist.get_rank() == 0:
        left = dist.get_world_size()
        Path(folder, "losses").write_text(json.dumps([left, losses]), encoding="utf-8")
    dist.destroy_process_group()


def run(ranks: int, steps: int, kills: list[int]) -> tuple[int, list[float]]:
    """Return how many ranks are left at the end, and the losses."""
    with tempfile.TemporaryDirectory() as folder:
        context = torch.multiprocessing.get_context("spawn")
        started = [
            context.Process(target=run_rank, args=(rank, ranks, folder, steps, kills))
            for rank in range(ranks)
        ]
        for one in started:
            one.start()
        for one in started:
            one.join()
        left, losses = json.loads(Path(folder, "losses").read_text(encoding="utf-8"))
        return left, losses


def curve(values: Sequence[float]) -> Curve:
    """Return a curve over the steps."""
    return dict(enumerate(values))


def main() -> None:
    """Train with and without kills, and compare."""
    parser = argparse.ArgumentParser(description="Train while ranks are killed, and go on.")
    parser.add_argument("--ranks", type=int, default=6)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument(
        "--kill", default="30,60,90,120,150", help="the steps at which the last rank is killed"
    )
    parser.add_argument("--png", type=Path, help="a file for the losses as a picture")
    options = parser.parse_args()
    kills = [int(step) for step in options.kill.split(",") if step]
    left, losses = run(options.ranks, options.steps, kills)
    _, undisturbed = run(options.ranks, options.steps, [])
    apart = max(abs(one - other) for one, other in zip(losses, undisturbed, strict=True))
    print(f"{options.ranks} ranks, {left} left after {options.steps} steps")
    print(f"loss: from {losses[0]:.3f} to {losses[-1]:.4f}; without kills to {undisturbed[-1]:.4f}")
    print(f"The losses of a step differ by {apart:.2g} at most.")
    if options.png:
        steps = Axis("step", Scale.COUNT)
        sizes = [options.ranks - sum(kill <= step for kill in kills) for step in range(options.steps)]
        both = {"undisturbed": curve(undisturbed), "with kills": curve(losses)}
        panels = [
            Panel("loss", both, steps, Axis("loss", Scale.LINEAR)),
            Panel("ranks that are left", {"with kills": curve(sizes)}, steps, Axis("ranks", Scale.COUNT)),
        ]
        draw_panels("Training digits while ranks are killed", panels, options.png)


if __name__ == "__main__":
    main()
