# SPDX-License-Identifier: Apache-2.0
"""The networks whose training the papers simulate, as their gradients: which tensors, and how large.

Counted layer by layer, so that its total is a check (pipelined paper, Table 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from stretto.spec.architectures import (
    ARCHITECTURES,
    Architecture,
    Convolution,
    Dense,
    Residual,
    Shape,
    shape_after,
)
from stretto.spec.architectures import Layer as Part

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


def network_of(architecture: Architecture) -> Network:
    """What an architecture has to be trained."""
    return Network(architecture.name, [*_layers(architecture.layers, architecture.image)])


def _layers(parts: Sequence[Part], shape: Shape) -> Iterator[Layer]:
    for part in parts:
        after = shape_after(part, shape)
        match part:
            case Convolution(kernel=kernel):
                yield from _weighted(part, kernel * kernel * shape[2], after)
            case Dense():
                yield from _weighted(part, shape[2], after)
            case Residual(branches=branches):
                for branch in branches:
                    yield from _layers(branch, shape)
            case _:
                pass  # nothing is trained there
        shape = after


def _weighted(part: Convolution | Dense, inputs: int, result: Shape) -> Iterator[Layer]:
    """Weights, so many for each output of an image; a bias; and the normalization if there is one."""
    rows, columns, outputs = result
    tensors = (Tensor(f"{part.name}/weights", inputs * outputs), Tensor(f"{part.name}/bias", outputs))
    yield Layer(2 * inputs * outputs * rows * columns, tensors)
    if part.normalized:
        name = f"{part.name}/norm"
        yield Layer(
            0,
            (Tensor(f"{name}/gamma", outputs), Tensor(f"{name}/beta", outputs)),
            (Tensor(f"{name}/mean", outputs), Tensor(f"{name}/variance", outputs)),
        )


def _build(architecture: Callable[[], Architecture]) -> Network:
    return network_of(architecture())


NETWORKS: dict[str, Callable[[], Network]] = {
    name: partial(_build, build) for name, build in ARCHITECTURES.items()
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
