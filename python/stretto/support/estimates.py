# SPDX-License-Identifier: Apache-2.0
"""Medians and their confidence intervals, for times of any distribution.

The interval of a median is a pair of order statistics: of n independent samples the number that lies below
the true median is Binomial(n, 1/2), so the k-th smallest and the k-th largest sample enclose it with a
probability that is known exactly, whatever the distribution.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from stretto.support.units import format_range, seconds_unit, three_digits

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median, and an interval that holds the true median with probability `coverage` or more."""

    median: float
    low: float
    high: float
    coverage: float
    """The probability for this interval: less than 0.95 if there are fewer than six samples."""

    def text(self, unit: float = 1.0) -> str:
        """The median with its interval, `1.95 (1.90-2.01)`; alone if they look alike."""
        median, interval = three_digits(self.median / unit), format_range(self.low, self.high, unit)
        return median if interval == median else f"{median} ({interval})"

    def seconds_text(self) -> str:
        """The same for seconds, in the unit that suits the median: `1.95 (1.90-2.01) ms`."""
        factor, unit = seconds_unit(self.median)
        return f"{self.text(factor)} {unit}"

    def to_json(self) -> dict[str, float]:
        """The estimate as JSON."""
        return {"median": self.median, "low": self.low, "high": self.high, "coverage": self.coverage}

    def map_decreasing(self, function: Callable[[float], float]) -> Estimate:
        """The estimate of a decreasing function of the value, as bandwidth is of time."""
        return Estimate(function(self.median), function(self.high), function(self.low), self.coverage)


@lru_cache(maxsize=256)
def interval_order(count: int, confidence: float = CONFIDENCE) -> tuple[int, float]:
    """The k of the narrowest interval from the k-th smallest to the k-th largest sample, and its coverage.

    The coverage is at least `confidence`; if no interval reaches that, k is 1.
    """
    if count < 1:
        raise ValueError("no samples")
    total = 2**count
    order, coverage = 1, 1 - 2 / total
    below = 1  # sum of binomial(count, i) for i < order
    term = 1
    while 2 * order < count:
        term = term * (count - order + 1) // order
        below += term
        # Computed in integers, since a power of two this large may exceed a float.
        wider = 1 - (2 * below * 10**12 // total) / 10**12
        if wider < confidence:
            break
        order, coverage = order + 1, wider
    return order, max(0.0, coverage)


def estimate_median(samples: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The median of the samples with its confidence interval."""
    order, coverage = interval_order(len(samples), confidence)
    ascending = sorted(samples)
    return Estimate(statistics.median(ascending), ascending[order - 1], ascending[-order], coverage)


def estimate_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """The median ratio of samples that were taken in pairs. A disturbance of both in a pair cancels out."""
    return estimate_median([a / b for a, b in zip(numerators, denominators, strict=True)])


def speedup(native: Sequence[float], seconds: Sequence[float]) -> Estimate:
    """How many times faster than the MPI default: above 1 is better."""
    return estimate_ratio(native, seconds)


def slowdown(native: Sequence[float], seconds: Sequence[float]) -> Estimate:
    """How many times slower than the MPI default: a choice must keep it at 1 or below."""
    return estimate_ratio(seconds, native)


def hidden(call: Sequence[float], computation: Sequence[float], overlapped: Sequence[float]) -> Estimate:
    """The part of the shorter of a call and a computation that the other hid while both ran.

    It is from 0 to 1, as in IMB-NBC of the Intel MPI Benchmarks, but computed for each repetition.
    """
    return estimate_median(
        [
            min(1.0, max(0.0, (one + other - both) / min(one, other)))
            for one, other, both in zip(call, computation, overlapped, strict=True)
        ]
    )
