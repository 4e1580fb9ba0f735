# SPDX-License-Identifier: Apache-2.0
"""What fresh samples of the finalists at one size tell: who is faster than `native`, and whom to choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stretto.spec.native import NATIVE, library_name
from stretto.support.estimates import Estimate, estimate_median, slowdown, speedup
from stretto.tune.findings import Choice, Pool, Samples

# A choice other than `native` must be this much faster: the lower end of the interval of the paired ratio, of
# fresh samples, must be above it.
LEAST_GAIN = 1.01
# The samples of a confirmation are looked at up to three times, so each look has an interval of its own.
CONFIDENCE = 0.98
# What is not slower than the best by more than this is as good.
EQUAL = 1.02
# The library must be told of its own algorithms when a job starts: that is to be worth so much.
TOLD = 1.05


class Evidence:
    """Samples of `native` and others for a kind of call, and for its twin if it has one.

    A choice for both must be faster for one of them, and not slower for the other.
    """

    def __init__(self, may_be_chosen: Callable[[str], bool]) -> None:
        self._may_be_chosen = may_be_chosen
        self._pool = Pool()
        self._twin = Pool()

    def add(self, samples: Samples, of_twin: Samples) -> None:
        """What one look gave; of the twin it may be nothing."""
        self._pool.add(samples)
        self._twin.add(of_twin)

    def specs(self) -> list[str]:
        """All that were measured, `native` among them."""
        return [spec for spec in self._pool.specs() if self._pool.seconds(spec)]

    def is_settled(self) -> bool:
        """Whether it is beyond doubt which are faster than `native`, and whether one is ahead of the rest."""
        others = [spec for spec in self.specs() if spec != NATIVE]
        faster = sorted((spec for spec in others if self._is_faster(spec)), key=self._seconds)
        if any(spec not in faster and not self._is_hopeless(spec) for spec in others):
            return False
        ratios = [slowdown(*self._pool.paired(faster[0], spec)) for spec in faster[1:]]
        return all(ratio.low > 1 or ratio.high < EQUAL for ratio in ratios)

    def choose(self, before: str, *, in_doubt_native: bool) -> str | None:
        """`before`: what smaller calls take, and these as well if it is as good as any.

        In doubt it is `native`, or nothing.
        """
        gains = self._gains()
        faster = [spec for spec in gains if self._is_faster(spec) and self._may_be_chosen(spec)]
        if not faster:
            is_in_doubt = any(gain.median > 1 for gain in gains.values())
            return None if is_in_doubt and not in_doubt_native else NATIVE
        best = min(faster, key=self._seconds)
        equal = [
            spec
            for spec in faster
            if slowdown(*self._pool.paired(best, spec)).median
            <= (TOLD if library_name(best) and not library_name(spec) else EQUAL)
        ]
        return min(equal, key=lambda spec: (spec != before, *simplicity(spec), self._seconds(spec)))

    def choice(self, size: int, spec: str) -> Choice:
        """What is known of a choice, and of the best of the library's own algorithms."""
        own = {one: gain for one, gain in self._gains().items() if library_name(one)}
        library = max(own, key=lambda one: own[one].median) if own else None
        return Choice(
            size,
            spec,
            estimate_median(self._pool.seconds(NATIVE)),
            estimate_median(self._pool.seconds(spec)),
            speedup(*self._pool.paired(NATIVE, spec)),
            library_name(library) if library else None,
            speedup(*self._pool.paired(NATIVE, library)) if library else None,
        )

    def gain_of_twin(self, spec: str) -> Estimate | None:
        """Of the twin's call, where that is what a choice is for: its own is no faster beyond noise."""
        if spec == NATIVE or _gain(self._pool, spec).low > LEAST_GAIN:
            return None
        return _gain(self._twin, spec) if self._twin.seconds(spec) else None

    def _gains(self) -> Mapping[str, Estimate]:
        return {spec: _gain(self._pool, spec) for spec in self.specs() if spec != NATIVE}

    def _of_both(self, spec: str) -> list[Estimate]:
        return [_gain(pool, spec) for pool in (self._pool, self._twin) if pool.seconds(spec)]

    def _is_faster(self, spec: str) -> bool:
        gains = self._of_both(spec)
        return any(gain.low > LEAST_GAIN for gain in gains) and all(
            gain.low > 1 / EQUAL and gain.coverage >= CONFIDENCE for gain in gains
        )

    def _is_hopeless(self, spec: str) -> bool:
        gains = self._of_both(spec)
        return all(gain.high < EQUAL for gain in gains) or any(gain.high < 1 / EQUAL for gain in gains)

    def _seconds(self, spec: str) -> float:
        """Of a call of each kind."""
        return sum(pool.median(spec) for pool in (self._pool, self._twin) if pool.seconds(spec))


def _gain(pool: Pool, spec: str) -> Estimate:
    native, seconds = pool.paired(NATIVE, spec)
    return estimate_median([a / b for a, b in zip(native, seconds, strict=True)], CONFIDENCE)


def simplicity(spec: str) -> tuple[int, int]:
    """Smaller is simpler. What the library must be told at its start counts as less simple than any spec."""
    return (1 if library_name(spec) else 0, spec.count(":") + spec.count("("))
