# SPDX-License-Identifier: Apache-2.0
"""Images for training. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stretto_research.networks.architectures import Architecture

Images = NDArray[np.float32]
"""Batch, rows, columns and channels."""
Labels = NDArray[np.int64]

_PATTERN = 8
"""Rows and columns of a class's pattern, before it is enlarged."""


class DataError(Exception):
    """Images that are not available, with a reason of one line."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of batches."""

    architecture: Architecture
    classes: int
    take: Callable[[np.random.Generator, int], tuple[Images, Labels]]
    """Returns a number of small square images and their labels, from these random numbers."""

    def batch(self, seed: int, rank: int, step: int, size: int) -> tuple[Images, Labels]:
        """Returns the batch of a rank and step, which is the same in every run."""
        small, labels = self.take(np.random.default_rng([seed, rank, step]), size)
        return _enlarged(small, self.architecture), labels


def _enlarged(small: Images, architecture: Architecture) -> Images:
    rows, columns, channels = architecture.image
    row_of = np.arange(rows) * small.shape[1] // rows
    column_of = np.arange(columns) * small.shape[2] // columns
    large = small[:, row_of][:, :, column_of]
    return np.ascontiguousarray(np.broadcast_to(large, (len(small), rows, columns, channels)))


def synthetic(architecture: Architecture, classes: int) -> Source:
    """Returns synthetic images: a pattern for each class, with noise, so that a network can learn them."""
    channels = architecture.image[2]

    def take(random: np.random.Generator, size: int) -> tuple[Images, Labels]:
        labels = random.integers(classes, size=size)
        shape = (_PATTERN, _PATTERN, channels)
        patterns = [np.random.default_rng([7, label]).normal(0, 1, shape) for label in labels]
        noise = random.normal(0, 0.5, (size, *shape))
        return (np.stack(patterns) + noise).astype(np.float32), labels

    return Source(architecture, classes, take)


def digits(architecture: Architecture) -> Source:
    """Returns the digits of scikit-learn, 8 x 8 grey pixels."""
    try:
        from sklearn.datasets import load_digits  # noqa: PLC0415  an optional package
    except ImportError:
        raise DataError(
            "--data digits needs scikit-learn beside the framework: pip install scikit-learn"
        ) from None
    all_digits = load_digits()
    pictures = (all_digits.images[..., None] / 8 - 1).astype(np.float32)

    def take(random: np.random.Generator, size: int) -> tuple[Images, Labels]:
        chosen = random.integers(len(pictures), size=size)
        return pictures[chosen], all_digits.target[chosen].astype(np.int64)

    return Source(architecture, 10, take)


def find_source(name: str, architecture: Architecture) -> Source:
    """Returns the source of a data set, in the shape of the network's input."""
    sources: dict[str, Callable[[], Source]] = {
        "synthetic-imagenet": lambda: synthetic(architecture, 1000),
        "synthetic-cifar10": lambda: synthetic(architecture, 10),
        "digits": lambda: digits(architecture),
    }
    source = sources[name]()
    if source.classes > architecture.classes:
        raise DataError(
            f"{name} has {source.classes} classes, and {architecture.name} has {architecture.classes} outputs"
        )
    return source
