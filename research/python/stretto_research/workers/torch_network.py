# SPDX-License-Identifier: Apache-2.0
"""Builds PyTorch modules of architectures."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from stretto_research.networks.architectures import (
    Architecture,
    Average,
    Convolution,
    Dense,
    Flatten,
    Layer,
    MaxPool,
    Residual,
    Shape,
    shape_after,
)
from torch import Tensor, nn


class Sum(nn.Module):
    """A layer that computes the ReLU of the sum of branches."""

    def __init__(self, branches: Sequence[nn.Module]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, images: Tensor) -> Tensor:
        """Returns the output for an image or a batch."""
        first, *others = (branch(images) for branch in self.branches)
        return torch.relu(sum(others, first))


def build(architecture: Architecture) -> nn.Module:
    """Returns the module of an architecture. It gives a score per class; images have channels first."""
    return _chain(architecture.layers, architecture.image)


def parameters_of(network: nn.Module) -> int:
    """Returns the number of parameters as Keras and the papers count, with statistics of normalizations."""
    statistics = (one for name, one in network.named_buffers() if "running" in name)
    return sum(one.numel() for one in (*network.parameters(), *statistics))


def _chain(layers: Sequence[Layer], shape: Shape) -> nn.Sequential:
    modules: list[nn.Module] = []
    for layer in layers:
        modules += _modules(layer, shape)
        shape = shape_after(layer, shape)
    return nn.Sequential(*modules)


def _modules(layer: Layer, shape: Shape) -> list[nn.Module]:
    channels = shape[2]
    match layer:
        case Convolution():
            modules: list[nn.Module] = [
                nn.Conv2d(channels, layer.outputs, layer.kernel, layer.stride, layer.padding)
            ]
            if layer.normalized:
                modules.append(nn.BatchNorm2d(layer.outputs))
            return [*modules, nn.ReLU()] if layer.activated else modules
        case MaxPool():
            return [nn.MaxPool2d(layer.size, layer.stride, layer.padding)]
        case Average():
            return [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        case Flatten():
            return [nn.Flatten()]
        case Dense():
            modules = [nn.Linear(channels, layer.outputs)]
            if layer.normalized:
                modules.append(nn.BatchNorm1d(layer.outputs))
            return [*modules, nn.ReLU()] if layer.activated else modules
        case Residual():
            return [Sum([_chain(branch, shape) for branch in layer.branches])]
