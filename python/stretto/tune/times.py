# SPDX-License-Identifier: Apache-2.0
"""Times of calls: measured, or predicted from the model and from other sizes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from stretto.spec.native import NATIVE, library_name

# As in the measuring program, a sample of short calls is a row of calls.
_SAMPLE_SECONDS = 20e-3
_SAMPLE_CALLS = 1024
# The share of one sample in the time to start a job, which is some seconds.
_START_SECONDS = 0.3

Predict = Callable[[str, str, int], float | None]
"""Seconds of a call by collective, spec and size; None if unknown."""


def no_prediction(_collective: str, _spec: str, _size: int) -> float | None:
    """Predicts nothing, for use without a model."""
    return None


class Times:
    """Seconds of a call of one collective, by size and spec."""

    def __init__(
        self,
        collective: str,
        predict: Predict,
        known: Mapping[int, Mapping[str, float]] | None = None,
        *,
        library_apart: bool = False,
    ) -> None:
        """`known`: measured medians. `library_apart`: the library's algorithms need jobs of their own."""
        self._library_apart = library_apart
        self._collective = collective
        self._predict = predict
        self._known = {size: dict(times) for size, times in (known or {}).items()}

    def at(self, size: int) -> dict[str, float]:
        """Returns the measured medians at a size by spec. The caller may add to them."""
        return self._known.setdefault(size, {})

    def native(self, size: int) -> float:
        """Returns the measured seconds of the MPI default."""
        return self._known[size][NATIVE]

    def nearest(self, seconds: float) -> int:
        """Returns the size at which the time of the MPI default is nearest to `seconds`."""
        return min(
            (size for size, times in self._known.items() if NATIVE in times),
            key=lambda size: abs(math.log(self.native(size) / seconds)),
        )

    def cost(self, size: int, specs: Iterable[str]) -> float:
        """Returns the seconds of a sample of each spec, with as many calls as the fastest needs for one."""
        times = {spec: self.expected(spec, size) or self.native(size) for spec in specs}
        fastest = max(min(times.values(), default=_SAMPLE_SECONDS), 1e-9)
        calls = min(_SAMPLE_CALLS, max(1.0, _SAMPLE_SECONDS / fastest))
        apart = [spec for spec in times if self._library_apart and library_name(spec)]
        # Each of these needs the reference, both in this job and in its own job.
        beside = sum(2 * calls * self.native(size) + _START_SECONDS for _ in apart)
        return calls * sum(times.values()) + beside

    def expected(self, spec: str, size: int) -> float | None:
        """Returns the measured seconds, or a prediction from other sizes and the model; None if unknown."""
        if spec in self._known.get(size, {}):
            return self._known[size][spec]
        near = [one for one in self._by_distance(size) if spec in self._known[one]]
        predicted = self._predict(self._collective, spec, size)
        if near and predicted is not None:
            there = self._predict(self._collective, spec, near[0])
            if there:
                return self._known[near[0]][spec] * predicted / there
        if predicted is not None:
            return predicted * self._bias(size)
        if not near:
            return None
        if spec == NATIVE or NATIVE not in self._known.get(size, {}):
            return self._extrapolated(spec, near, size)
        # The ratio to the MPI default changes with the size. It is extrapolated from the nearest sizes,
        # which count less the further away they are.
        logs = [math.log(self._known[one][spec] / self.native(one)) for one in near[:2]]
        trend = 0.5 * (logs[0] - logs[1]) if len(logs) == 2 and _is_next(near[0], near[1], size) else 0.0
        steps = abs(math.log(size / near[0], 4))
        return self.native(size) * math.exp((logs[0] + trend) * 0.5 ** max(0.0, steps - (trend != 0)))

    def _by_distance(self, size: int) -> list[int]:
        return sorted(self._known, key=lambda one: abs(math.log(one / size)))

    def _extrapolated(self, spec: str, near: Sequence[int], size: int) -> float:
        """Extrapolates by a line through the two nearest sizes, in logarithms; with one size, by bytes."""
        first = self._known[near[0]][spec]
        power = 1.0
        if len(near) > 1:
            power = math.log(first / self._known[near[1]][spec]) / math.log(near[0] / near[1])
        return first * math.exp(math.log(size / near[0]) * min(1.0, max(0.0, power)))

    def _bias(self, size: int) -> float:
        """Returns the ratio of measured to predicted time at the nearest measured size."""
        for near in self._by_distance(size):
            ratios = [
                seconds / predicted
                for spec, seconds in self._known[near].items()
                if (predicted := self._predict(self._collective, spec, near))
            ]
            if ratios:
                return statistics.median(ratios)
        return 1.0


def _is_next(near: int, other: int, size: int) -> bool:
    """Whether the two sizes are neighbours on the same side of `size`."""
    return 1 / 4.5 < near / other < 4.5 and (near - size) * (other - near) > 0
