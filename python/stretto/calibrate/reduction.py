# SPDX-License-Identifier: Apache-2.0
"""Fits the bytes that a rank reduces per second by the length of the vector, a step for each cache."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stretto.model.machine_file import ReductionRate
from stretto.support.piecewise import constant_costs, split, weighted_median
from stretto.support.robust import Array, Typical, spread

_FLOOR = 0.08
"""Relative errors are taken to be at least this, as caches have no sharp edges."""
_MOST_STEPS = 6
_PARAMETERS = 2


@dataclass(frozen=True, slots=True)
class RateFit:
    """One step."""

    rate: ReductionRate
    error: float


def fit_reduction(sizes: list[int], times: list[Typical]) -> list[RateFit]:
    """Fit steps to the times of reductions of ascending lengths (bytes); the first step begins at 0."""
    logs: Array = np.log(np.asarray(sizes) / np.asarray([time.value for time in times]))
    replicates: Array = np.log(
        np.asarray(sizes)[:, None] / np.maximum(np.asarray([time.replicates for time in times]), 1e-15)
    )
    errors: Array = np.asarray(spread(replicates, axis=1))
    judged = np.hypot(errors, _FLOOR)
    penalty = _PARAMETERS * math.log(len(sizes))
    runs = split(constant_costs(logs, judged, lambda _i, _j: True), penalty, _MOST_STEPS)
    steps = []
    for first, last in runs:
        inside = slice(first, last + 1)
        middle = weighted_median(logs[inside], 1 / judged[inside] ** 2)
        drawn = np.median(replicates[inside], axis=0)
        scatter = float(np.std(logs[inside])) / math.sqrt(last - first + 1)
        begin = round(math.sqrt(sizes[first - 1] * sizes[first])) if first else 0
        bandwidth = math.exp(middle)
        steps.append(
            RateFit(ReductionRate(begin, bandwidth), bandwidth * max(float(spread(drawn)), scatter, 1e-3))
        )
    return steps
