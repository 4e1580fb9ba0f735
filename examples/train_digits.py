# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on scikit-learn's digits, data-parallel: each rank takes a part of every batch.

The program does not know about Stretto:

    mpirun -np 2 python examples/train_digits.py
    stretto run -- mpirun -np 2 python examples/train_digits.py
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

Array = NDArray[np.float32]


class Network:
    """Fully connected layers. All parameters are one buffer, and all gradients another."""

    def __init__(self, widths: list[int], random: np.random.Generator) -> None:
        self.shapes = [*itertools.pairwise(widths)]
        self.parameters = np.zeros(sum((i + 1) * o for i, o in self.shapes), np.float32)
        self.gradients = np.zeros_like(self.parameters)
        for weights, _ in self.layers(self.parameters):
            weights[:] = random.normal(0, np.sqrt(2 / len(weights)), weights.shape)

    def layers(self, buffer: Array) -> list[tuple[Array, Array]]:
        """Return weights and biases of every layer, as views into a buffer."""
        views, start = [], 0
        for inputs, outputs in self.shapes:
            block = buffer[start : start + (inputs + 1) * outputs].reshape(inputs + 1, outputs)
            views.append((block[:-1], block[-1]))
            start += block.size
        return views

    def forward(self, images: Array) -> list[Array]:
        """Return the input of each layer, and the output of the last one."""
        values = [images]
        for weights, biases in self.layers(self.parameters):
            values.append(np.maximum(values[-1], 0) @ weights + biases)
        return values

    def backward(self, images: Array, labels: NDArray[np.int64]) -> None:
        """Fill the gradients of the mean cross-entropy."""
        *inputs, scores = self.forward(images)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        slope = odds / odds.sum(axis=1, keepdims=True)
        slope[np.arange(len(labels)), labels] -= 1
        slope /= len(labels)
        layers = zip(inputs, self.layers(self.gradients), self.layers(self.parameters), strict=True)
        for value, (to_weights, to_biases), (weights, _) in reversed([*layers]):
            np.matmul(np.maximum(value, 0).T, slope, out=to_weights)
            slope.sum(axis=0, out=to_biases)
            slope = (slope @ weights.T) * (value > 0)

    def accuracy(self, images: Array, labels: NDArray[np.int64]) -> float:
        """Return the part of the images that is recognized."""
        return float((self.forward(images)[-1].argmax(axis=1) == labels).mean())


def train(comm: MPI.Comm, steps: int, batch: int, width: int, seed: int) -> dict[str, Any]:
    """Train on all ranks of the communicator; return the results."""
    digits = load_digits()
    images, test_images, labels, test_labels = train_test_split(
        (digits.data / 16).astype(np.float32), digits.target, test_size=0.2, random_state=seed
    )
    network = Network([images.shape[1], width, width, 10], np.random.default_rng(seed))
    velocity = np.zeros_like(network.parameters)
    mine = np.arange(len(images))[comm.rank :: comm.size]
    random = np.random.default_rng([seed, comm.rank])

    comm.Barrier()
    began, in_allreduce = time.perf_counter(), 0.0
    for _ in range(steps):
        chosen = random.choice(mine, batch)
        network.backward(images[chosen], labels[chosen])
        before = time.perf_counter()
        comm.Allreduce(MPI.IN_PLACE, network.gradients)
        in_allreduce += time.perf_counter() - before
        velocity = 0.9 * velocity - 0.05 / comm.size * network.gradients
        network.parameters += velocity
    seconds = time.perf_counter() - began

    # In data-parallel training all ranks must have the same parameters, to the last bit.
    digest = hashlib.sha256(network.parameters.tobytes()).hexdigest()
    if len(set(comm.allgather(digest))) != 1:
        raise SystemExit("the ranks have drifted apart: an allreduce gave them different sums")
    return {
        "ranks": comm.size,
        "parameters": network.parameters.size,
        "steps": steps,
        "test_samples": len(test_labels),
        "accuracy": network.accuracy(test_images, test_labels),
        "seconds": seconds,
        "seconds_in_allreduce": in_allreduce,
        "samples_per_second": steps * batch * comm.size / seconds,
        "digest": digest,
    }


def main() -> None:
    """Read the options, train and print."""
    parser = argparse.ArgumentParser(description="Train a network on digits, data-parallel.")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32, help="images of each rank in a step")
    parser.add_argument("--width", type=int, default=1024, help="width of the two hidden layers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()

    # The training has a communicator of its own, as in Horovod. Each rank has one thread, since ranks share
    # the cores.
    with threadpool_limits(1):
        result = train(MPI.COMM_WORLD.Dup(), options.steps, options.batch, options.width, options.seed)
    if MPI.COMM_WORLD.rank == 0:
        print(
            f"{result['ranks']} ranks, {result['parameters']} parameters: accuracy {result['accuracy']:.2%}, "
            f"{result['samples_per_second']:.1f} samples/s, "
            f"{result['seconds_in_allreduce']:.2f} of {result['seconds']:.2f} s in Allreduce"
        )
        if options.json:
            options.json.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
