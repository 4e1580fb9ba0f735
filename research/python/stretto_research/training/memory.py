# SPDX-License-Identifier: Apache-2.0
"""Checks before a training starts that it fits into this machine's memory.

The estimate is a lower bound for parameters and images, so a training that passes may still be too large.
"""

from __future__ import annotations

from stretto.support.errors import StrettoError
from stretto.support.units import format_bytes
from stretto_research.networks.architectures import Architecture, Layer, Residual, Shape, shape_after
from stretto_research.networks.gradients import NETWORKS
from stretto_research.simulate.smpi import free_memory

_FLOAT = 4
_COPIES = 3
"""Copies of the parameters: the parameters themselves, gradients, and momentum."""
_PROGRAM = 300 << 20
"""The memory of a framework without a network."""


def activations(architecture: Architecture) -> int:
    """Returns the number of outputs of all layers for one image, which the backward pass needs."""
    return _activations(architecture.layers, architecture.image)


def _activations(layers: tuple[Layer, ...], shape: Shape) -> int:
    total = 0
    for layer in layers:
        if isinstance(layer, Residual):
            total += sum(_activations(branch, shape) for branch in layer.branches)
        shape = shape_after(layer, shape)
        total += shape[0] * shape[1] * shape[2]
    return total


def rank_bytes(model: str, architecture: Architecture, batch: int) -> int:
    """Returns the least memory that a rank needs."""
    parameters = NETWORKS[model]().parameters
    return _PROGRAM + _FLOAT * (_COPIES * parameters + batch * activations(architecture))


def check(model: str, architecture: Architecture, batch: int, ranks: int) -> None:
    """Refuse a training whose ranks need more memory than is free, if all are on this machine."""
    needed, free = ranks * rank_bytes(model, architecture, batch), free_memory()
    if needed > free:
        raise StrettoError(
            f"--batch {batch}: {ranks} ranks of {architecture.name} need {format_bytes(needed)} of memory at "
            f"least, and {format_bytes(free)} are free; give a smaller batch or fewer ranks"
        )
