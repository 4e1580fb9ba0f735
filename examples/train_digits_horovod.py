# SPDX-License-Identifier: Apache-2.0
"""Trains a small Keras network on scikit-learn's digits, data-parallel by Horovod.

The program does not know about Stretto:

    mpirun -np 2 python examples/train_digits_horovod.py
    stretto run -- mpirun -np 2 python examples/train_digits_horovod.py
"""

from __future__ import annotations

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

STEPS, BATCH, WIDTH = 60, 32, 1024


def network() -> tf.keras.Model:
    """Return a fully connected network with 1.1 M parameters."""
    dense = tf.keras.layers.Dense
    return tf.keras.Sequential([dense(WIDTH, "relu"), dense(WIDTH, "relu"), dense(10)])


def main() -> None:
    """Train on this rank's part of the images."""
    hvd.init()
    tf.keras.utils.set_random_seed(1 + hvd.rank())
    digits = load_digits()
    images, test_images, labels, test_labels = train_test_split(
        (digits.data / 16).astype(np.float32), digits.target, test_size=0.2, random_state=1
    )
    model = network()
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(0.05, momentum=0.9, jit_compile=False)
    random = np.random.default_rng(hvd.rank())
    mine = np.arange(len(images))[hvd.rank() :: hvd.size()]
    for step in range(STEPS):
        chosen = random.choice(mine, BATCH)
        with tf.GradientTape() as tape:
            value = loss(labels[chosen], model(images[chosen], training=True))
        # The mean over the ranks. Here Horovod calls MPI_Allreduce.
        gradients = hvd.DistributedGradientTape(tape).gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        if step == 0:
            hvd.broadcast_variables(model.variables, root_rank=0)
    accuracy = float(np.mean(model(test_images).numpy().argmax(axis=1) == test_labels))
    accuracies = hvd.allgather_object(accuracy)
    if len(set(accuracies)) != 1:
        raise SystemExit(f"the ranks have drifted apart: their accuracies are {accuracies}")
    if hvd.rank() == 0:
        print(f"{hvd.size()} ranks, {model.count_params()} parameters: accuracy {accuracy:.2%}")


if __name__ == "__main__":
    main()
