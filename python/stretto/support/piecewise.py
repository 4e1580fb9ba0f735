# SPDX-License-Identifier: Apache-2.0
"""Fits lines or constants in pieces, as many as the data require.

The Bayesian information criterion decides: a piece must lower the sum of squared residuals, each in units of
its error, by more than log(n) for each of its parameters. So noise does not add pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from stretto.support.robust import Array

_ITERATIONS = 15


def split(costs: Array, penalty: float, most: int) -> list[tuple[int, int]]:
    """The pieces with the least cost, as (first, last). There are at most `most`; each adds `penalty`.

    `costs[i, j]` is the cost of a piece from i to j, or infinite if it is not allowed. At least one split
    must have a finite cost.
    """
    count = len(costs)
    # best[k][j]: the least cost of all points before j in k pieces, and the beginning of the last piece.
    best = [[(math.inf, 0)] * (count + 1) for _ in range(most + 1)]
    best[0][0] = (0.0, 0)
    for pieces in range(1, most + 1):
        for end in range(1, count + 1):
            best[pieces][end] = min(
                (best[pieces - 1][begin][0] + costs[begin, end - 1] + penalty, begin) for begin in range(end)
            )
    pieces = min(range(1, most + 1), key=lambda number: best[number][count][0])
    found: list[tuple[int, int]] = []
    end = count
    while pieces > 0:
        begin = best[pieces][end][1]
        found.append((begin, end - 1))
        end, pieces = begin, pieces - 1
    return found[::-1]


def soft_l1(residuals: Array) -> Array:
    """The loss that grows like a square at first, then like the residual (SciPy's soft_l1)."""
    return 2 * (np.sqrt(1 + residuals**2) - 1)


def line_costs(x: Array, y: Array, errors: Array, allowed: Callable[[int, int], bool]) -> Array:
    """The loss, for `split`, of the best line y = a + b x with a, b >= 0 through each run of the points.

    All runs are fitted at once, by iteratively reweighted least squares.
    """
    count = len(x)
    runs = [(i, j) for i in range(count) for j in range(i, count) if allowed(i, j)]
    costs: Array = np.full((count, count), math.inf)
    if not runs:
        return costs
    first, last = np.array(runs).T
    at = np.arange(count)
    inside = (at[None, :] >= first[:, None]) & (at[None, :] <= last[:, None])
    base = inside / errors[None, :] ** 2
    weights = base
    for _ in range(_ITERATIONS):
        a, b = weighted_lines(x, y[None, :], weights)
        residuals = (a[:, None] + b[:, None] * x - y) / errors
        weights = base / np.sqrt(1 + residuals**2)
    costs[first, last] = np.sum(np.where(inside, soft_l1(residuals), 0.0), axis=1)
    return costs


def weighted_lines(x: Array, y: Array, weights: Array, *, bounded: bool = True) -> tuple[Array, Array]:
    """The least-squares lines y = a + b x, one for each row of `y` and `weights`; `bounded`: a, b >= 0."""
    total = np.sum(weights, axis=1)
    mean_x = np.sum(weights * x, axis=1) / total
    mean_y = np.sum(weights * y, axis=1) / total
    xx = np.sum(weights * (x - mean_x[:, None]) ** 2, axis=1)
    xy = np.sum(weights * (x - mean_x[:, None]) * (y - mean_y[:, None]), axis=1)
    slope = np.divide(xy, xx, out=np.zeros_like(xy), where=xx > 0)
    if not bounded:
        return mean_y - slope * mean_x, slope
    slope = np.maximum(slope, 0.0)
    through_zero = mean_y - slope * mean_x < 0
    square = np.sum(weights * x * x, axis=1)
    slope = np.where(through_zero, np.sum(weights * x * y, axis=1) / np.where(square > 0, square, 1.0), slope)
    return np.maximum(mean_y - slope * mean_x, 0.0) * ~through_zero, slope


def constant_costs(y: Array, errors: Array, allowed: Callable[[int, int], bool]) -> Array:
    """The loss, for `split`, of the best constant through each run of the points."""
    count = len(y)
    costs: Array = np.full((count, count), math.inf)
    for i in range(count):
        for j in range(i, count):
            if allowed(i, j):
                middle = weighted_median(y[i : j + 1], 1 / errors[i : j + 1] ** 2)
                costs[i, j] = float(np.sum(soft_l1((y[i : j + 1] - middle) / errors[i : j + 1])))
    return costs


def weighted_median(values: Array, weights: Array) -> float:
    """The weighted median: half of the weight lies below it."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])
