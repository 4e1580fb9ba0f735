# SPDX-License-Identifier: Apache-2.0
"""Whether a training fits into a machine's memory, asked before it is started.

An estimate from below: what parameters and images need at least. What passes may be too large.
"""

from __future__ import annotations

from stretto.simulate.smpi import free_memory
from stretto.spec.architectures import Architecture, Layer, Residual, Shape, shape_after
from stretto.spec.networks import NETWORKS
from stretto.support.errors import StrettoError
from stretto.support.units import format_bytes

_FLOAT = 4
_COPIES = 3
"""Of the parameters: themselves, their gradients, and the momentum."""
_PROGRAM = 300 << 20
"""A framework without a network."""


def activations(architecture: Architecture) -> int:
    """Floats that the layers give for one image, all of which the way back needs."""
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
    """What a rank needs at least."""
    parameters = NETWORKS[model]().parameters
    return _PROGRAM + _FLOAT * (_COPIES * parameters + batch * activations(architecture))


def check(model: str, architecture: Architecture, batch: int, ranks: int) -> None:
    """Refuse a training whose ranks, all on this machine, need more memory than is free."""
    needed, free = ranks * rank_bytes(model, architecture, batch), free_memory()
    if needed > free:
        raise StrettoError(
            f"--batch {batch}: {ranks} ranks of {architecture.name} need {format_bytes(needed)} of memory at "
            f"least, and {format_bytes(free)} are free; take a smaller batch or fewer ranks"
        )
