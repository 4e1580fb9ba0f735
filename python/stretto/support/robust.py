# SPDX-License-Identifier: Apache-2.0
"""Typical values of samples, many of which may have been disturbed.

Other processes make samples longer, sometimes most of them, so a median may already be wrong. The shortest
interval that holds two fifths of the samples (a shorth: Rousseeuw and Leroy, Robust Regression and Outlier
Detection, 1987, section 4.4) lies among the undisturbed samples if they are at least two fifths. Samples far
from it are outliers; the median of the others is the typical value. Without disturbance, it is the median of
all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

REPLICATES = 200
_SHARE = 0.4
_FAR = 4.0
"""The distance of outliers in widths of the interval; 4.7 standard deviations if samples are normal."""
_LEAST_ERROR = 1e-3
"""The smallest relative standard error that is ever stated."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its standard error, in the same unit."""

    value: float
    error: float


@dataclass(frozen=True, slots=True)
class Typical:
    """The typical value of samples."""

    value: float
    error: float
    """Standard error, from bootstrap replicates and from differences between passes."""
    replicates: Array
    """The values of the REPLICATES bootstrap samples."""
    outliers: int
    count: int


def typical_rows(rows: Array) -> tuple[Array, NDArray[np.int64]]:
    """The typical value of each row of samples, and the number of samples that are not outliers."""
    ascending = np.sort(rows, axis=1)
    count = ascending.shape[1]
    held = max(min(2, count), math.ceil(_SHARE * count))
    widths = ascending[:, held - 1 :] - ascending[:, : count - held + 1]
    first = np.argmin(widths, axis=1)
    at = np.arange(len(ascending))
    low, high = ascending[at, first], ascending[at, first + held - 1]
    # If most samples are equal (a coarse clock), the others must not all count as outliers.
    reach = _FAR * np.maximum(high - low, 2 * _LEAST_ERROR * np.abs(high))
    begin = np.sum(ascending < (low - reach)[:, None], axis=1)
    end = np.sum(ascending <= (high + reach)[:, None], axis=1)
    values = (ascending[at, (begin + end - 1) // 2] + ascending[at, (begin + end) // 2]) / 2
    return values, end - begin


def typical(passes: Sequence[Sequence[float]], random: np.random.Generator) -> Typical:
    """The typical value of samples from several passes; there must be at least one sample."""
    samples: Array = np.asarray([one for part in passes for one in part], dtype=float)
    (value,), (kept,) = typical_rows(samples[None, :])
    drawn = samples[random.integers(len(samples), size=(REPLICATES, len(samples)))]
    replicates, _ = typical_rows(drawn)
    error = float(spread(replicates))
    parts = [float(typical_rows(np.asarray([part]))[0][0]) for part in passes if len(part) > 0]
    between = (max(parts) - min(parts)) / 2
    # A few samples that happen to be equal do not make the value more certain.
    least = max(between, _LEAST_ERROR * abs(value), 0.05 * abs(value) if len(samples) < 3 else 0.0)
    if error < least:
        replicates = replicates + random.normal(0, math.sqrt(least**2 - error**2), REPLICATES)
        error = least
    return Typical(float(value), error, replicates, len(samples) - int(kept), len(samples))


def spread(replicates: Array, axis: int = 0) -> Any:
    """Half of the interval with the middle 68 %: like the standard deviation, but robust."""
    low, high = np.percentile(replicates, (15.87, 84.13), axis=axis)
    return (high - low) / 2
