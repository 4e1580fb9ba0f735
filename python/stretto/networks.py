# SPDX-License-Identifier: Apache-2.0
"""The networks whose training the papers simulate, as their gradients: which tensors, and how large.

Each is built layer by layer, so that its total is a check (pipelined paper, Table 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

GRADIENT_BYTES = 4
"""Of a parameter: FP32."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Parameters that are one array, and so one message of data-parallel training."""

    name: str
    parameters: int


@dataclass(frozen=True, slots=True)
class Layer:
    """What is computed at once, and so has its gradients at once."""

    operations: int
    """Floating-point operations of the forward pass of an image; a multiplication and an addition are two."""
    trainable: tuple[Tensor, ...]
    """What has gradients."""
    statistics: tuple[Tensor, ...] = ()
    """Moving means and variances: part of the model, but without gradients, and never sent."""


@dataclass(slots=True)
class Network:
    """Layers in the order of the forward pass; their gradients come in the reverse order."""

    name: str
    layers: list[Layer] = field(default_factory=list)

    @property
    def trainable(self) -> list[Tensor]:
        """What has gradients."""
        return [tensor for layer in self.layers for tensor in layer.trainable]

    @property
    def statistics(self) -> list[Tensor]:
        """What is followed, not trained."""
        return [tensor for layer in self.layers for tensor in layer.statistics]

    @property
    def parameters(self) -> int:
        """As the papers count them, which is Keras' way: statistics are among them."""
        return sum(one.parameters for one in (*self.trainable, *self.statistics))

    @property
    def operations(self) -> int:
        """Of the forward pass, for one image: convolutions and dense layers."""
        return sum(layer.operations for layer in self.layers)

    def convolution(self, name: str, kernel: int, inputs: int, outputs: int, edge: int) -> None:
        """Square kernels and a result of `edge` times `edge`, and a bias, which Keras has also where a
        normalization follows.
        """
        self._add(name, kernel * kernel * inputs * outputs, outputs, edge * edge)

    def dense(self, name: str, inputs: int, outputs: int) -> None:
        """A fully connected layer."""
        self._add(name, inputs * outputs, outputs, 1)

    def normalization(self, name: str, channels: int) -> None:
        """Batch normalization: scale and offset are trained, mean and variance are followed."""
        self.layers.append(
            Layer(
                0,
                (Tensor(f"{name}/gamma", channels), Tensor(f"{name}/beta", channels)),
                (Tensor(f"{name}/mean", channels), Tensor(f"{name}/variance", channels)),
            )
        )

    def normalized(self, name: str, kernel: int, inputs: int, outputs: int, edge: int) -> None:
        """A convolution and what normalizes it."""
        self.convolution(name, kernel, inputs, outputs, edge)
        self.normalization(f"{name}/norm", outputs)

    def _add(self, name: str, weights: int, biases: int, times: int) -> None:
        tensors = (Tensor(f"{name}/weights", weights), Tensor(f"{name}/bias", biases))
        self.layers.append(Layer(2 * weights * times, tensors))


def alexnet() -> Network:
    """On one device, without groups (Krizhevsky, Sutskever, Hinton 2012)."""
    network = Network("AlexNet")
    layers = ((11, 3, 96, 55), (5, 96, 256, 27), (3, 256, 384, 13), (3, 384, 384, 13), (3, 384, 256, 13))
    for number, (kernel, inputs, outputs, edge) in enumerate(layers, 1):
        network.convolution(f"conv{number}", kernel, inputs, outputs, edge)
    network.dense("fc6", 6 * 6 * 256, 4096)
    network.dense("fc7", 4096, 4096)
    network.dense("fc8", 4096, 1000)
    return network


def vgg11() -> Network:
    """Configuration A (Simonyan, Zisserman 2014)."""
    network = Network("VGG11")
    channels = (3, 64, 128, 256, 256, 512, 512, 512, 512)
    edges = (224, 112, 56, 56, 28, 28, 14, 14)
    for number, ((inputs, outputs), edge) in enumerate(zip(pairwise(channels), edges, strict=True), 1):
        network.convolution(f"conv{number}", 3, inputs, outputs, edge)
    network.dense("fc9", 7 * 7 * 512, 4096)
    network.dense("fc10", 4096, 4096)
    network.dense("fc11", 4096, 1000)
    return network


def resnet50() -> Network:
    """Keras' own: bottlenecks with biases, of which 53,120 parameters are moving statistics.

    Its strides are those of the second convolution of a block, by which the floating-point operations are
    those of the paper.
    """
    network = Network("ResNet50")
    network.normalized("conv1", 7, 3, 64, 112)
    inputs, edge_before = 64, 56
    stages = ((64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7))
    for stage, (width, blocks, edge) in enumerate(stages, 2):
        for block in range(1, blocks + 1):
            name = f"conv{stage}_{block}"
            if block == 1:
                network.normalized(f"{name}/shortcut", 1, inputs, 4 * width, edge)
            network.normalized(f"{name}/1", 1, inputs, width, edge_before)
            network.normalized(f"{name}/2", 3, width, width, edge)
            network.normalized(f"{name}/3", 1, width, 4 * width, edge)
            inputs, edge_before = 4 * width, edge
    network.dense("fc", 2048, 1000)
    return network


def resnet110() -> Network:
    """For CIFAR-10: three stages of 18 blocks.

    The papers do not print its layers. These have the parameters, the layers (393, counted as Keras does) and
    the floating-point operations that Table 2 has: the first block of every stage has a projection with a
    normalization, the first stage's, too, and a normalized dense layer of 64 comes before that of 10 classes.
    """
    network = Network("ResNet110")
    network.normalized("conv1", 3, 3, 16, 32)
    inputs = 16
    for stage, (width, edge) in enumerate(((16, 32), (32, 16), (64, 8)), 2):
        for block in range(1, 19):
            name = f"conv{stage}_{block}"
            network.normalized(f"{name}/1", 3, inputs, width, edge)
            network.normalized(f"{name}/2", 3, width, width, edge)
            if block == 1:
                network.normalized(f"{name}/shortcut", 1, inputs, width, edge)
            inputs = width
    network.dense("fc1", 64, 64)
    network.normalization("fc1/norm", 64)
    network.dense("fc2", 64, 10)
    return network


NETWORKS: dict[str, Callable[[], Network]] = {
    "alexnet": alexnet,
    "resnet50": resnet50,
    "resnet110": resnet110,
    "vgg11": vgg11,
}
"""As programs ask for them."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Messages of `begin` bytes and more, and of less than twice as many."""

    begin: int
    messages: int


def message_sizes(network: Network) -> list[int]:
    """Bytes of each gradient, in the order of the layers."""
    return [one.parameters * GRADIENT_BYTES for one in network.trainable]


def histogram(sizes: Iterable[int]) -> list[Bin]:
    """How many messages there are of each power of two of bytes; bins without any are left out."""
    counts = Counter(1 << size.bit_length() - 1 for size in sizes)
    return [Bin(begin, counts[begin]) for begin in sorted(counts)]


def gradients(network: Network) -> list[tuple[Tensor, float]]:
    """In the order in which they come, each with the part of a step's arithmetic that is then done.

    The forward pass is a third of it (pipelined paper, 7.1); the backward pass, in the reverse order, gives
    each layer twice the operations that it has forward.
    """
    total = 3 * network.operations
    done = network.operations
    result = []
    for layer in reversed(network.layers):
        done += 2 * layer.operations
        result += [(tensor, done / total) for tensor in reversed(layer.trainable)]
    return result
