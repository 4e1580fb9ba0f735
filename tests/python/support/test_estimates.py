# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.support.estimates import estimate_median, estimate_ratio, interval_order, slowdown, speedup

times = st.floats(min_value=1e-9, max_value=1e3)
samples = st.lists(times, min_size=1, max_size=60)


@given(samples)
def test_the_interval_holds_the_median_and_lies_within_the_range(values: list[float]) -> None:
    estimate = estimate_median(values)
    assert estimate.median == statistics.median(values)
    assert min(values) <= estimate.low <= estimate.median <= estimate.high <= max(values)


@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_the_samples_is_of_no_account(values: list[float], shuffler: random.Random) -> None:
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    assert estimate_median(shuffled) == estimate_median(values)


@given(samples, st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_unit_is_of_no_account(values: list[float], factor: float) -> None:
    plain, scaled = estimate_median(values), estimate_median([value * factor for value in values])
    assert scaled.low == plain.low * factor
    assert scaled.high == plain.high * factor
    assert scaled.coverage == plain.coverage


@given(st.integers(min_value=1, max_value=400))
def test_the_interval_is_the_narrowest_that_covers_enough(count: int) -> None:
    def coverage(order: int) -> float:
        below = sum(math.comb(count, i) for i in range(order))
        return 1 - 2 * below / float(2**count)

    order, achieved = interval_order(count)
    assert achieved == pytest.approx(max(0.0, coverage(order)), abs=1e-9)
    assert 2 * order <= count + 1
    if count >= 6:
        assert achieved >= 0.95
        assert coverage(order + 1) < 0.95
    else:
        assert order == 1


@pytest.mark.parametrize(
    ("count", "order"), [(1, 1), (5, 1), (6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (100, 40)]
)
def test_orders_as_the_tables_have_them(count: int, order: int) -> None:
    assert interval_order(count)[0] == order


def test_many_samples_are_no_trouble() -> None:
    order, achieved = interval_order(10_000)
    assert order == pytest.approx(5000 - 1.96 * 50, abs=2)
    assert 0.95 <= achieved < 0.952


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    source = random.Random(7)
    trials = 2000
    held = 0
    for _ in range(trials):
        estimate = estimate_median([source.expovariate(1.0) for _ in range(15)])
        held += estimate.low <= math.log(2) <= estimate.high
    assert held / trials == pytest.approx(interval_order(15)[1], abs=0.015)


def test_no_samples_are_an_error() -> None:
    with pytest.raises(ValueError, match="no samples"):
        estimate_median([])


@given(st.lists(st.tuples(times, st.floats(min_value=1.0, max_value=50.0)), min_size=1, max_size=40))
def test_what_disturbs_both_of_a_pair_cancels_out(pairs: list[tuple[float, float]]) -> None:
    native = [time * 3 * noise for time, noise in pairs]
    spec = [time * noise for time, noise in pairs]
    ratio = speedup(native, spec)
    assert ratio.low == pytest.approx(3)
    assert ratio.high == pytest.approx(3)


@given(st.lists(st.tuples(times, times), min_size=1, max_size=40))
def test_slowdown_mirrors_speedup(pairs: list[tuple[float, float]]) -> None:
    native, spec = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    faster, slower = speedup(native, spec), slowdown(native, spec)
    assert slower.low == pytest.approx(1 / faster.high)
    assert slower.high == pytest.approx(1 / faster.low)


def test_samples_that_do_not_pair_up_are_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        estimate_ratio([1.0, 2.0], [1.0])


@given(samples)
def test_the_bandwidth_of_the_slow_end_is_the_low_one(values: list[float]) -> None:
    bandwidth = estimate_median(values).map_decreasing(lambda seconds: 1e6 / seconds)
    assert bandwidth.low <= bandwidth.median <= bandwidth.high
