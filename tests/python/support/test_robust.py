# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.support.robust import typical


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("count", [4, 9, 20, 50])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.45])
def test_what_something_else_made_longer_does_not_count(count: int, share: float) -> None:
    for seed in range(20):
        source = random(seed)
        samples = source.normal(1, 0.01, count)
        samples[: int(share * count)] *= 1 + source.exponential(5, int(share * count))
        found = typical([source.permutation(samples).tolist()], random())
        assert found.value == pytest.approx(1, abs=0.03)


@given(st.integers(0, 1000), st.integers(6, 60))
def test_without_a_disturbance_it_is_about_the_median(seed: int, count: int) -> None:
    samples = random(seed).normal(1, 0.05, count)
    found = typical([samples.tolist()], random())
    # Three of a few samples may be close by chance. The others are not outliers.
    assert abs(found.value - float(np.median(samples))) < 0.1
    assert samples.min() <= found.value <= samples.max()


def test_the_error_is_that_of_the_value() -> None:
    found = [typical([random(seed).normal(1, 0.05, 24).tolist()], random(seed)) for seed in range(200)]
    deviations = np.asarray([(one.value - 1) / one.error for one in found])
    assert 0.85 < float(np.mean(np.abs(deviations) < 2)) <= 1
    assert 0.5 < float(np.std(deviations)) < 1.5


def test_passes_that_differ_are_known_no_better_than_that() -> None:
    found = typical([[1.0, 1.001, 1.002] * 4, [1.2, 1.201, 1.202] * 4], random())
    assert found.error >= 0.09


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=30), st.floats(1e-6, 1e6))
def test_the_unit_does_not_matter(samples: list[float], unit: float) -> None:
    one = typical([samples], random())
    other = typical([[sample * unit for sample in samples]], random())
    assert other.value == pytest.approx(one.value * unit)
    assert min(samples) <= one.value * (1 + 1e-12)
    assert one.value <= max(samples) * (1 + 1e-12)
    assert one.error > 0
    assert 0 <= one.outliers < one.count == len(samples)
