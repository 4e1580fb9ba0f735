# SPDX-License-Identifier: Apache-2.0
"""The gradients of the networks whose training the papers simulate: tensors and their sizes.

They are counted layer by layer, so that their total is a check (pipelined paper, Table 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from stretto_research.networks.architectures import (
    ARCHITECTURES,
    Architecture,
    Convolution,
    Dense,
    Residual,
    Shape,
    shape_after,
)
from stretto_research.networks.architectures import Layer as Part

GRADIENT_BYTES = 4
"""The size of a parameter: FP32."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array of parameters, which is one message in data-parallel training."""

    name: str
    parameters: int


@dataclass(frozen=True, slots=True)
class Layer:
    """A step of the computation, whose gradients are ready together."""

    operations: int
    """Floating-point operations of an image's forward pass; a multiplication with an addition is two."""
    trainable: tuple[Tensor, ...]
    """The tensors that have gradients."""
    statistics: tuple[Tensor, ...] = ()
    """Moving means and variances. They have no gradients and are never sent."""


@dataclass(slots=True)
class Network:
    """Layers in the order of the forward pass; their gradients come in the reverse order."""

    name: str
    layers: list[Layer] = field(default_factory=list)

    @property
    def trainable(self) -> list[Tensor]:
        """The tensors that have gradients."""
        return [tensor for layer in self.layers for tensor in layer.trainable]

    @property
    def statistics(self) -> list[Tensor]:
        """The tensors of statistics, which are not trained."""
        return [tensor for layer in self.layers for tensor in layer.statistics]

    @property
    def parameters(self) -> int:
        """The number of parameters as Keras and the papers count them, statistics included."""
        return sum(one.parameters for one in (*self.trainable, *self.statistics))

    @property
    def operations(self) -> int:
        """Operations of the forward pass for one image, in convolutions and dense layers."""
        return sum(layer.operations for layer in self.layers)


def network_of(architecture: Architecture) -> Network:
    """The tensors that an architecture trains."""
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
    """A layer's weights (`inputs` for each output), its bias, and its normalization if there is one."""
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
"""The functions that make networks, by name."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Messages from `begin` to less than twice `begin` bytes."""

    begin: int
    messages: int


def message_sizes(network: Network) -> list[int]:
    """The bytes of each gradient, in the order of the layers."""
    return [one.parameters * GRADIENT_BYTES for one in network.trainable]


def histogram(sizes: Iterable[int]) -> list[Bin]:
    """The number of messages for each power of two of bytes, without empty bins."""
    counts = Counter(1 << size.bit_length() - 1 for size in sizes)
    return [Bin(begin, counts[begin]) for begin in sorted(counts)]


def gradients(network: Network) -> list[tuple[Tensor, float]]:
    """The gradients in the order in which they are ready, each with the part of the arithmetic done by then.

    The forward pass is a third of all (pipelined paper, 7.1); the backward pass, in the reverse order, gives
    each layer twice the operations that it has forward.
    """
    total = 3 * network.operations
    done = network.operations
    result = []
    for layer in reversed(network.layers):
        done += 2 * layer.operations
        result += [(tensor, done / total) for tensor in reversed(layer.trainable)]
    return result
