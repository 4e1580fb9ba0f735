# SPDX-License-Identifier: Apache-2.0
"""Builds Keras models of architectures."""

from __future__ import annotations

from functools import reduce
from typing import Any

from tensorflow import keras

from stretto_research.networks.architectures import (
    Architecture,
    Average,
    Convolution,
    Dense,
    Flatten,
    Layer,
    MaxPool,
    Residual,
)

Tensor = Any


def build(architecture: Architecture) -> keras.Model:
    """Returns the Keras model of an architecture, which gives a score for each class."""
    images = keras.Input(architecture.image)
    return keras.Model(images, _chain(architecture.layers, images), name=architecture.name)


def _chain(layers: tuple[Layer, ...], tensor: Tensor) -> Tensor:
    return reduce(lambda before, layer: _apply(layer, before), layers, tensor)


def _apply(layer: Layer, tensor: Tensor) -> Tensor:
    match layer:
        case Convolution():
            padded = _padded(tensor, layer.padding)
            after = keras.layers.Conv2D(layer.outputs, layer.kernel, layer.stride)(padded)
            return _finished(layer, after)
        case MaxPool():
            # After a ReLU, zero is the least value, so zeros can serve as padding.
            return keras.layers.MaxPool2D(layer.size, layer.stride)(_padded(tensor, layer.padding))
        case Average():
            return keras.layers.GlobalAveragePooling2D()(tensor)
        case Flatten():
            return keras.layers.Flatten()(tensor)
        case Dense():
            return _finished(layer, keras.layers.Dense(layer.outputs)(tensor))
        case Residual():
            branches = [_chain(branch, tensor) for branch in layer.branches]
            return keras.layers.ReLU()(keras.layers.Add()(branches))


def _padded(tensor: Tensor, padding: int) -> Tensor:
    return keras.layers.ZeroPadding2D(padding)(tensor) if padding else tensor


def _finished(layer: Convolution | Dense, tensor: Tensor) -> Tensor:
    if layer.normalized:
        tensor = keras.layers.BatchNormalization()(tensor)
    return keras.layers.ReLU()(tensor) if layer.activated else tensor
