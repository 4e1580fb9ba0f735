# SPDX-License-Identifier: Apache-2.0
"""Measures what Horovod sends by MPI_Alltoallv and MPI_Allgatherv in TensorFlow, by two ways in turns.

    stretto run --np 8 -- .frameworks/tensorflow/bin/python benchmarks/horovod_exchanges.py

Two kinds of steps. "experts": tokens go to the ranks' experts and back, forward and backward, four times
hvd.alltoall of as many bytes a rank as the size says. "embedding": the gradient of an embedding is
tf.IndexedSlices, of as many bytes a rank, which hvd.allreduce gathers from all ranks. These calls are carried
out by Stretto's choice ("auto") or by the MPI library ("native"), within one job (stretto_force). All ranks
begin a step together. Its time is the slowest rank's. The first --warm-up steps by each way do not count: in
them the guard finds out who is faster.

It needs nothing but TensorFlow and Horovod (make frameworks).
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS = ("auto", "native")
# Not those by which Horovod's thread finds out what is ready: it makes them while a spec is forced.
CALLS = (b"allgather", b"alltoallv")
MEBIBYTE = 1 << 20


def experts(size: int, width: int, hidden: int) -> Callable[[], Any]:
    """Return a step of a layer in which each rank is an expert; each gets as many tokens from every rank."""
    count = size // (4 * width) // hvd.size() * hvd.size()
    tokens = tf.Variable(np.random.default_rng(hvd.rank()).normal(size=(count, width)).astype(np.float32))
    up = tf.Variable(tf.random.normal((width, hidden), stddev=0.1))
    down = tf.Variable(tf.random.normal((hidden, width), stddev=0.1))
    # hvd.alltoall returns lengths as well where it is given some.
    splits = tf.fill([hvd.size()], count // hvd.size())

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            rows, _ = hvd.alltoall(tokens, splits, name="there")
            rows = tf.nn.relu(rows @ up) @ down
            rows, _ = hvd.alltoall(rows, splits, name="back")
            loss = tf.reduce_mean(tf.square(rows))
        return tape.gradient(loss, [tokens, up, down])

    return step


def embedding(size: int, width: int, hidden: int) -> Callable[[], Any]:
    """Return a step that looks words up and updates their vectors by the gradients of all ranks."""
    words = 20 * hidden
    table = tf.Variable(tf.random.normal((words, width), seed=1))
    found = tf.constant(np.random.default_rng(hvd.rank()).integers(0, words, size // (4 * width)))

    @tf.function
    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.gather(table, found)))
        slices = tape.gradient(loss, table)
        assert isinstance(slices, tf.IndexedSlices)
        table.scatter_sub(hvd.allreduce(slices, name="slices"))

    return step


STEPS = {"experts": experts, "embedding": embedding}


def slowest(seconds: float) -> float:
    """Return the largest of all ranks' seconds."""
    return float(hvd.allreduce(tf.constant(seconds, tf.float64), op=hvd.Max, name="slowest"))


def measure(step: Callable[[], Any], warm_up: int, steps: int) -> dict[str, list[float]]:
    """Return seconds by way, in turns of alternating order."""
    force = ctypes.CDLL(None).stretto_force
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(warm_up + steps):
        for way in WAYS if number % 2 == 0 else reversed(WAYS):
            slowest(0.0)
            for collective in CALLS:
                assert force(collective, way.encode(), ctypes.c_size_t(0)) == 0
            slowest(0.0)
            began = time.perf_counter()
            step()
            took = slowest(time.perf_counter() - began)
            if number >= warm_up:
                seconds[way].append(took)
    return seconds


def main() -> None:
    """Measure, print, and write the file."""
    parser = argparse.ArgumentParser(description="Compare steps with Horovod's exchanges within one job.")
    parser.add_argument("--kinds", default="experts,embedding", help="of steps, with commas between")
    parser.add_argument("--sizes", default="1,4", help="MiB a rank, with commas between")
    parser.add_argument("--width", type=int, default=512, help="elements of a token or word")
    parser.add_argument("--hidden", type=int, default=128, help="width inside an expert")
    parser.add_argument("--warm-up", type=int, default=25)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    hvd.init()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    series = []
    for kind in options.kinds.split(","):
        for size in (int(float(one) * MEBIBYTE) for one in options.sizes.split(",")):
            seconds = measure(
                STEPS[kind](size, options.width, options.hidden), options.warm_up, options.steps
            )
            series.append({"kind": kind, "bytes": size, "seconds": seconds})
            if hvd.rank() == 0:
                auto, native = (statistics.median(seconds[way]) for way in WAYS)
                ratios = sorted(n / a for a, n in zip(seconds["auto"], seconds["native"], strict=True))
                low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
                print(
                    f"{kind}, {size / MEBIBYTE:g} MiB a rank, {hvd.size()} ranks: native {native * 1e3:.1f} "
                    f"ms, auto {auto * 1e3:.1f} ms, speedup {native / auto:.2f} "
                    f"(middle half of the pairs {low:.2f}-{high:.2f})",
                    flush=True,
                )
    if hvd.rank() == 0 and options.json:
        options.json.write_text(json.dumps({"ranks": hvd.size(), "series": series}, indent=1) + "\n")


if __name__ == "__main__":
    main()
