# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.support.piecewise import (
    constant_costs,
    line_costs,
    soft_l1,
    split,
    weighted_lines,
    weighted_median,
)


def best_by_trying(costs: np.ndarray, penalty: float, most: int) -> float:
    """The least cost of all splits."""
    count = len(costs)
    best = math.inf
    for cuts in range(1 << (count - 1)):
        borders = [0, *(i + 1 for i in range(count - 1) if cuts >> i & 1), count]
        pieces = list(pairwise(borders))
        if len(pieces) <= most:
            best = min(best, sum(costs[i, j - 1] + penalty for i, j in pieces))
    return best


@given(st.integers(0, 1000), st.integers(1, 7), st.floats(0, 2), st.integers(1, 5))
def test_no_other_way_to_cut_costs_less(seed: int, count: int, penalty: float, most: int) -> None:
    costs = np.random.default_rng(seed).uniform(0, 3, (count, count))
    found = split(costs, penalty, most)
    assert [i for i, _ in found] == [0, *(j + 1 for _, j in found[:-1])]
    assert found[-1][1] == count - 1
    total = sum(float(costs[i, j]) + penalty for i, j in found)
    assert total == pytest.approx(best_by_trying(costs, penalty, most))


def test_pieces_that_are_not_allowed_are_not_made() -> None:
    costs = np.full((4, 4), math.inf)
    costs[0, 1] = costs[2, 3] = 1.0
    assert split(costs, 5.0, 4) == [(0, 1), (2, 3)]


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 100))
def test_a_line_with_outliers(a: float, b: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = np.arange(1.0, 21.0)
    y = a + b * x + 0.1
    y[random.integers(20)] *= 10
    costs = line_costs(x, y, np.full(20, 0.01), lambda i, j: (i, j) == (0, 19))
    # One point is far from the line, and only it adds to the loss.
    off = soft_l1(np.asarray([np.max(np.abs(y - (a + b * x + 0.1))) / 0.01]))[0]
    assert costs[0, 19] <= off * 1.02
    assert math.isinf(costs[0, 18])


def test_lines_do_not_begin_below_zero() -> None:
    x = np.asarray([1.0, 2.0, 3.0])
    weights = np.ones((1, 3))
    a, b = weighted_lines(x, np.asarray([[0.0, 2.0, 4.0]]), weights)
    assert (a[0], b[0]) == (0.0, pytest.approx(16 / 14))
    a, b = weighted_lines(x, np.asarray([[3.0, 2.0, 1.0]]), weights)
    assert (a[0], b[0]) == (pytest.approx(2.0), 0.0)
    a, b = weighted_lines(x, np.asarray([[3.0, 2.0, 1.0]]), weights, bounded=False)
    assert (a[0], b[0]) == (pytest.approx(4.0), pytest.approx(-1.0))


def test_steps() -> None:
    y = np.asarray([1.0, 1.01, 0.99, 3.0, 3.01, 2.0])
    costs = constant_costs(y, np.full(6, 0.02), lambda _i, _j: True)
    assert split(costs, 2 * math.log(6), 6) == [(0, 2), (3, 4), (5, 5)]


def test_half_of_the_weight() -> None:
    assert weighted_median(np.asarray([5.0, 1.0, 3.0]), np.asarray([1.0, 1.0, 1.0])) == 3.0
    assert weighted_median(np.asarray([5.0, 1.0, 3.0]), np.asarray([9.0, 1.0, 1.0])) == 5.0
