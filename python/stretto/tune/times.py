# SPDX-License-Identifier: Apache-2.0
"""What the calls of a tuning take: as far as it was measured, and else as the model or other sizes tell."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from stretto.spec.native import NATIVE, library_name

# Of the measuring program: a sample of short calls is a row of them.
_SAMPLE_SECONDS = 20e-3
_SAMPLE_CALLS = 1024
# To start a job takes some seconds, for some samples.
_START_SECONDS = 0.3

Predict = Callable[[str, str, int], float | None]
"""Seconds that a call takes by collective, spec and size; None if that is not known."""


def no_prediction(_collective: str, _spec: str, _size: int) -> float | None:
    """Where there is no model."""
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
        """`known`: medians that were measured. `library_apart`: its algorithms have jobs of their own."""
        self._library_apart = library_apart
        self._collective = collective
        self._predict = predict
        self._known = {size: dict(times) for size, times in (known or {}).items()}

    def at(self, size: int) -> dict[str, float]:
        """What is known at a size; to be added to."""
        return self._known.setdefault(size, {})

    def native(self, size: int) -> float:
        """Of the library by itself, where it was measured."""
        return self._known[size][NATIVE]

    def nearest(self, seconds: float) -> int:
        """The size at which the library takes most nearly so long."""
        return min(
            (size for size, times in self._known.items() if NATIVE in times),
            key=lambda size: abs(math.log(self.native(size) / seconds)),
        )

    def cost(self, size: int, specs: Iterable[str]) -> float:
        """Seconds of one sample of each: all make as many calls as the fastest needs for a sample."""
        times = {spec: self.expected(spec, size) or self.native(size) for spec in specs}
        fastest = max(min(times.values(), default=_SAMPLE_SECONDS), 1e-9)
        calls = min(_SAMPLE_CALLS, max(1.0, _SAMPLE_SECONDS / fastest))
        apart = [spec for spec in times if self._library_apart and library_name(spec)]
        # Beside each of these another spec is measured, here and there.
        beside = sum(2 * calls * self.native(size) + _START_SECONDS for _ in apart)
        return calls * sum(times.values()) + beside

    def expected(self, spec: str, size: int) -> float | None:
        """Measured, or drawn from other sizes and the model; None if nobody knows."""
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
            return self._drawn_out(spec, near, size)
        # How it compares to the library changes with the size: what is known of other sizes counts less the
        # further they are, and goes on as it went.
        logs = [math.log(self._known[one][spec] / self.native(one)) for one in near[:2]]
        trend = 0.5 * (logs[0] - logs[1]) if len(logs) == 2 and _is_next(near[0], near[1], size) else 0.0
        steps = abs(math.log(size / near[0], 4))
        return self.native(size) * math.exp((logs[0] + trend) * 0.5 ** max(0.0, steps - (trend != 0)))

    def _by_distance(self, size: int) -> list[int]:
        return sorted(self._known, key=lambda one: abs(math.log(one / size)))

    def _drawn_out(self, spec: str, near: Sequence[int], size: int) -> float:
        """The line through the two nearest sizes, in logarithms; with one, as the number of bytes."""
        first = self._known[near[0]][spec]
        power = 1.0
        if len(near) > 1:
            power = math.log(first / self._known[near[1]][spec]) / math.log(near[0] / near[1])
        return first * math.exp(math.log(size / near[0]) * min(1.0, max(0.0, power)))

    def _bias(self, size: int) -> float:
        """How many times longer than predicted calls take at the nearest size that was measured."""
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
    """Whether the two sizes are neighbours, on the same side of `size`."""
    return 1 / 4.5 < near / other < 4.5 and (near - size) * (other - near) > 0
