# SPDX-License-Identifier: Apache-2.0
"""Failures of a training by TensorFlow and Horovod, by name. A rank's program."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import horovod.tensorflow as hvd
import tensorflow as tf

STEPS = 3


def train(steps: int, at_last: Callable[[], object] | None = None) -> tf.Variable:
    """Each rank adds its number plus one; `at_last` is called while the last rank computes a gradient."""
    parameters = tf.Variable(tf.zeros(500_000))

    def sum_of(values: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            if at_last is not None and hvd.rank() == hvd.size() - 1:
                at_last()
            return upstream * (hvd.rank() + 1) * tf.ones_like(values)

        return tf.reduce_sum(values), gradient

    model = tf.custom_gradient(sum_of)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            value = model(parameters)
        tape = hvd.DistributedGradientTape(tape, op=hvd.Sum)
        parameters.assign_add(tape.gradient(value, [parameters])[0])
    return parameters


def join() -> None:
    """The last rank has fewer batches, and says so: the others go on, with zeros from it."""
    last = hvd.size() - 1
    parameters = train(STEPS - (hvd.rank() == last))
    hvd.join()
    others = sum(range(1, last + 1))
    if hvd.rank() == 0:
        wanted = STEPS * others + (STEPS - 1) * (last + 1)
        assert float(tf.reduce_max(tf.abs(parameters - wanted))) == 0
        print("right", flush=True)


def fewer() -> None:
    """The last rank has fewer batches, and says nothing."""
    train(STEPS - (hvd.rank() == hvd.size() - 1))


def fail() -> None:
    """An exception where a gradient is computed."""
    raise ArithmeticError("the gradient has failed")


CASES: dict[str, Callable[[], object]] = {
    "join": join,
    "fewer": fewer,
    "hook": lambda: train(STEPS, fail),
    "killed": lambda: train(STEPS, lambda: os.kill(os.getpid(), signal.SIGKILL)),
}

if __name__ == "__main__":
    hvd.init()
    train(1)
    CASES[sys.argv[1]]()
