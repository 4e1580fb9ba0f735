# SPDX-License-Identifier: Apache-2.0
"""Trains with TensorFlow and Horovod, as a training script does."""

from __future__ import annotations

import logging
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
logging.getLogger().setLevel(logging.ERROR)  # TensorFlow warns on every rank that there is no TensorBoard

import horovod  # noqa: E402  after what it reads
import horovod.tensorflow as hvd  # noqa: E402
import tensorflow as tf  # noqa: E402

from stretto_research.networks.architectures import Architecture  # noqa: E402
from stretto_research.workers import keras_network  # noqa: E402
from stretto_research.workers.images import Images, Labels  # noqa: E402
from stretto_research.workers.options import Options  # noqa: E402

_MOMENTUM = 0.9


class TensorflowTrainer:
    """A Keras model whose gradients Horovod averages."""

    def __init__(self, architecture: Architecture, options: Options) -> None:
        hvd.init()
        self.rank, self.ranks, self.nodes = hvd.rank(), hvd.size(), hvd.cross_size()
        self.about = f"TensorFlow {tf.__version__}, Horovod {horovod.__version__}"
        tf.config.threading.set_intra_op_parallelism_threads(options.threads)
        tf.config.threading.set_inter_op_parallelism_threads(options.threads + 1)
        tf.random.set_seed(options.seed)
        tf.keras.utils.set_random_seed(options.seed)
        self._model = keras_network.build(architecture)
        self.parameters = self._model.count_params()
        self._loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        # Keras' default would wait for a compiler that is not needed.
        self._optimizer = tf.keras.optimizers.SGD(options.learning_rate, _MOMENTUM, jit_compile=False)
        self._optimizer.build(self._model.trainable_variables)
        self._rate = options.learning_rate
        compression = {"none": hvd.Compression.none, "fp16": hvd.Compression.fp16}[options.compression]

        def train(images: tf.Tensor, labels: tf.Tensor, together: bool) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = self._loss(labels, self._model(images, training=True))
            if together:
                tape = hvd.DistributedGradientTape(tape, compression=compression)
            gradients = tape.gradient(loss, self._model.trainable_variables)
            self._optimizer.apply_gradients(zip(gradients, self._model.trainable_variables, strict=True))
            return loss

        self._train = tf.function(train, autograph=False)

    def compute(self, images: Images, labels: Labels) -> float:
        """Do a step with learning rate zero, so that ranks keep the same parameters."""
        self._optimizer.learning_rate.assign(0.0)
        loss = float(self._train(tf.constant(images), tf.constant(labels), False))
        self._optimizer.learning_rate.assign(self._rate)
        return loss

    def step(self, images: Images, labels: Labels) -> float:
        """Do a forward pass, a backward pass, an allreduce and an update."""
        return float(self._train(tf.constant(images), tf.constant(labels), True))

    def agree(self) -> None:
        """Copy rank 0's variables to all ranks: statistics of normalizations may differ by now."""
        hvd.broadcast_variables(self._model.non_trainable_variables, root_rank=0)

    def barrier(self) -> None:
        """Wait for all ranks by a sum, since Horovod has no barrier for TensorFlow."""
        hvd.allreduce(tf.constant(0.0), op=hvd.Sum, name="barrier")

    def end(self) -> None:
        """Shut Horovod down, which finalizes MPI if it initialized it."""
        hvd.shutdown()


def make_trainer(architecture: Architecture, options: Options) -> TensorflowTrainer:
    """Returns the trainer on this rank."""
    return TensorflowTrainer(architecture, options)
