# SPDX-License-Identifier: Apache-2.0
"""Decides by fresh samples at one size which finalists are faster than `native`, and chooses one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stretto.spec.native import NATIVE, library_name
from stretto.support.estimates import Estimate, estimate_median, slowdown, speedup
from stretto.tune.findings import Choice, Pool, Samples

# A choice other than `native` must be this much faster: in fresh samples, the lower end of the interval of
# the paired ratio must be above this.
LEAST_GAIN = 1.01
# A confirmation looks at its samples up to three times, so each look needs a wider interval.
CONFIDENCE = 0.98
# A spec counts as equal to the best spec if it is at most this much slower.
EQUAL = 1.02
# An algorithm of the library must be set when the job starts. So it must be this much faster to be chosen.
TOLD = 1.05


class Evidence:
    """Samples of `native` and other specs for a kind of call, and for its twin if it has one.

    A choice must be faster for either the kind of call or its twin, and not slower for the other.
    """

    def __init__(self, may_be_chosen: Callable[[str], bool]) -> None:
        self._may_be_chosen = may_be_chosen
        self._pool = Pool()
        self._twin = Pool()

    def add(self, samples: Samples, of_twin: Samples) -> None:
        """Add the samples of one look; those of the twin may be empty."""
        self._pool.add(samples)
        self._twin.add(of_twin)

    def specs(self) -> list[str]:
        """Returns all specs with samples, `native` among them."""
        return [spec for spec in self._pool.specs() if self._pool.seconds(spec)]

    def is_settled(self) -> bool:
        """Whether more samples would not change which specs are faster than `native`, and which leads."""
        others = [spec for spec in self.specs() if spec != NATIVE]
        faster = sorted((spec for spec in others if self._is_faster(spec)), key=self._seconds)
        if any(spec not in faster and not self._is_hopeless(spec) for spec in others):
            return False
        ratios = [slowdown(*self._pool.paired(faster[0], spec)) for spec in faster[1:]]
        return all(ratio.low > 1 or ratio.high < EQUAL for ratio in ratios)

    def choose(self, before: str, *, in_doubt_native: bool) -> str | None:
        """Returns the spec to choose; None if that is in doubt and `in_doubt_native` is False.

        `before`: the choice at the nearest other size, which is kept if it is as good as any.
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
        """Returns the choice with its times and gain, and the best of the library's own algorithms."""
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
        """Returns the twin's gain if the spec was chosen only because of the twin, and otherwise None."""
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
        """Returns the median seconds of a call, plus the median seconds of the twin's call."""
        return sum(pool.median(spec) for pool in (self._pool, self._twin) if pool.seconds(spec))


def _gain(pool: Pool, spec: str) -> Estimate:
    native, seconds = pool.paired(NATIVE, spec)
    return estimate_median([a / b for a, b in zip(native, seconds, strict=True)], CONFIDENCE)


def simplicity(spec: str) -> tuple[int, int]:
    """Returns a sort key: simple specs first, and the library's own algorithms last.

    The latter must be set when the job starts.
    """
    return (1 if library_name(spec) else 0, spec.count(":") + spec.count("("))
