# SPDX-License-Identifier: Apache-2.0
"""Finds the fastest spec of each size by measurements, within a given time.

Nothing here uses MPI: a `Bench` measures, and has the clock.

*Survey*: The MPI default (`native`) is measured alone at each size, so that the time can be divided. A
size's share grows with the square root of its call's time, and sizes that trainings send get more. Then the
sizes are decided one by one, those that trainings send first:
1. *Explore* (explore.py): As many candidates as the time allows are measured, all interleaved, in the order
   of their expected times (from the model and from other sizes). Specs that are clearly behind are dropped,
   then the slower half. The best are tried with other parameters, until one is ahead or all that are left
   are equal.
2. *Confirm*: The best, `native` and the runner-up are measured again, since the best of many measurements
   is partly luck. A spec is chosen only if it is faster than `native` beyond noise (evidence.py).
A size for which no time is left has no choice: the table does not cover it. Break points come last: where
neighbouring sizes have different choices, the size between them is measured to decide between the two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from stretto.spec.native import NATIVE, native_by
from stretto.support.errors import StrettoError
from stretto.support.estimates import Estimate, estimate_median
from stretto.support.units import format_bytes, format_seconds
from stretto.tune.evidence import Evidence
from stretto.tune.explore import Explorer
from stretto.tune.findings import CallKind, Choice, Findings
from stretto.tune.measuring import Bench, Measuring
from stretto.tune.times import Predict, Times, no_prediction

_LOOKS = (7, 7, 14)  # more samples at each look, for long calls; short calls get several times as many
_MOST_TIMES = 4
_FEWEST = 3  # samples of `native` where nothing else is a candidate
# A size is measured only if there is time for this many calls of `native` at the size.
_LEAST_CALLS = 20
_RESERVE = 0.2  # share of the time for break points
# Trainings send mostly gradients, several of them in a message. Sizes below this count less.
_WORTHY_BYTES = 64 << 10
_WORTH_OF_SMALLER = 0.3
_BREAK_RATIO = 1.25  # break points closer than this are not searched for
_WATCH_SECONDS = 20.0
_WATCH_SAMPLES = 7
_DRIFT = 1.5


class TooShortError(StrettoError):
    """The time is too short to decide anything."""


class Search:
    """Finds the choices for one kind of call."""

    def __init__(
        self,
        bench: Bench,
        kind: CallKind,
        *,
        candidates: Callable[[int], list[str]],
        variants: Callable[[str, int], list[str]],
        until: float,
        rule: Callable[[int], str] = lambda _size: NATIVE,
        predict: Predict = no_prediction,
        report: Callable[[str], None] = lambda _text: None,
        chosen: Callable[[Choice], None] = lambda _choice: None,
        findings: Findings | None = None,
        times: dict[int, dict[str, float]] | None = None,
        library_apart: bool = False,
    ) -> None:
        """`until`: when the search must end, by the bench's clock. `rule`: a spec that is always tried.

        `findings` and `times` (by size and spec) come from an interrupted search.
        `library_apart`: the library uses one of its own algorithms at all sizes or at none, so none is
        chosen. The best is still recorded, even at sizes at which `native` is faster.
        """
        self._kind = kind
        self._report = report
        self._chosen = chosen
        self.findings = findings or Findings()
        self._times = Times(kind.collective, predict, times, library_apart=library_apart)
        self._measuring = Measuring(bench, kind, self._times, until, library_apart=library_apart)
        self._explorer = Explorer(self._measuring, candidates, variants, rule, report)
        self._watched = -math.inf
        self._reference: tuple[int, Estimate] | None = None
        self._drifted = False

    def run(self, sizes: Sequence[int]) -> Findings:
        """Decide at these sizes and, if time allows, between them. Raises TooShortError."""
        self._recall()
        surveyed = self._survey(sizes)
        left_over = [size for size in surveyed if size not in self.findings.choices]
        for at, size in enumerate(left_over):
            self._watch()
            if self._measuring.left() <= 0:
                self._remark(f"no time was left for {_names(left_over[at:])}: the table does not cover them")
                break
            self._decide_at(size, self._share(left_over[at:], is_all=len(surveyed) == 1))
        if not self.findings.choices:
            raise TooShortError(
                f"{self._kind.name}: the budget is too short to decide anything of "
                f"{format_bytes(min(sizes))}; give a larger --budget, or other --sizes"
            )
        self._break_points()
        return self.findings

    # Time

    def _share(self, sizes: Sequence[int], *, is_all: bool) -> float:
        """Returns the seconds for the first size. Time is set aside for other sizes and break points."""
        weights = [
            math.sqrt(self._times.cost(size, [NATIVE])) * (1 if size >= _WORTHY_BYTES else _WORTH_OF_SMALLER)
            for size in sizes
        ]
        left = self._measuring.left() * (1 if is_all else 1 - _RESERVE)
        least = _LEAST_CALLS * self._times.native(sizes[0])
        return max(least, left * weights[0] / sum(weights))

    def _recall(self) -> None:
        """Use the times of an interrupted search's choices to predict others."""
        for choice in self.findings.sorted():
            known = self._times.at(choice.size)
            known[NATIVE] = choice.native.median
            known[choice.spec] = choice.seconds.median

    def _remark(self, text: str) -> None:
        self.findings.remarks.append(f"{self._kind.name}: {text}")

    # Survey

    def _survey(self, sizes: Sequence[int]) -> list[int]:
        """Measure `native` at each size. Returns the sizes for which there is time, as _in_order()."""
        planned = 0.0
        surveyed: list[int] = []
        left_out: list[int] = []
        for size in _in_order(sizes):
            if size in self.findings.choices:
                surveyed.append(size)
                continue
            most = self._measuring.left() - planned
            is_too_long = bool(left_out) and size > left_out[0]
            if is_too_long or _LEAST_CALLS * (self._times.expected(NATIVE, size) or 0.0) > most:
                left_out.append(size)
                continue
            self._report(f"{self._measuring.name_at(size)}: native")
            self._measuring.measure(size, [NATIVE], 3)
            cost = _LEAST_CALLS * self._times.native(size)
            if planned + cost > self._measuring.left():
                left_out.append(size)
                continue
            planned += cost
            surveyed.append(size)
        if left_out:
            self._remark(
                f"{_names(left_out)} would exceed the budget and were left out: the table does not cover them"
            )
        return surveyed

    # One size

    def _decide_at(self, size: int, share: float) -> None:
        end = self._measuring.elapsed() + share
        previous = [choice.spec for choice in self.findings.choices.values() if choice.spec != NATIVE]
        finalists, library = self._explorer.explore(size, share, previous)
        self._confirm(size, finalists, library, end - self._measuring.elapsed())

    # Confirming

    def _confirm(
        self,
        size: int,
        finalists: Sequence[str],
        library: str | None,
        seconds: float,
        *,
        in_doubt_native: bool = True,
    ) -> None:
        """Decide among the finalists by fresh samples. In doubt, choose `native` or nothing."""
        before = self._nearest_choice(size)
        wanted = [NATIVE, *finalists[:2]]
        if before in finalists:
            wanted.append(before)
        if library is not None:
            wanted.append(library)
        # If there is no time for all specs, the least important are dropped.
        specs = list(dict.fromkeys(wanted))
        while len(specs) > 2 and self._times.cost(size, specs) * _LOOKS[0] > max(
            seconds, self._measuring.left() / 4
        ):
            specs.pop()
        if len(specs) > 1 and self._times.cost(size, specs) * _LOOKS[0] > self._measuring.left():
            self._remark(
                f"no time was left to confirm {specs[1]} at {format_bytes(size)}: the table does not cover it"
            )
            return
        self._report(f"{self._measuring.name_at(size)}: {' against '.join(specs)}")
        # The twin's calls take about as long as this kind's calls.
        cost = self._times.cost(size, specs) * (2 if self._kind.twin else 1)
        times = max(1, min(_MOST_TIMES, int(seconds / (sum(_LOOKS) * cost))))
        end = self._measuring.elapsed() + max(seconds, self._measuring.left() / 10)
        evidence = Evidence(self._measuring.may_be_chosen)
        for look in _LOOKS if len(specs) > 1 else (_FEWEST,):
            samples = self._measuring.measure(size, specs, times * look)
            evidence.add(samples, self._measuring.measure_twin(size, samples, times * look))
            specs = evidence.specs()
            if evidence.is_settled() or cost * times * look > end - self._measuring.elapsed():
                break
        spec = evidence.choose(before, in_doubt_native=in_doubt_native)
        if spec is None:
            return
        if self._kind.twin and (gain := evidence.gain_of_twin(spec)):
            twin = f"{self._kind.twin.name}, {gain.median:.2f} times as fast"
            self._remark(f"{spec} at {format_bytes(size)} was chosen for {twin}")
        self.findings.choices[size] = evidence.choice(size, spec)
        self._chosen(self.findings.choices[size])

    def _nearest_choice(self, size: int) -> str:
        """Returns the choice at the nearest other size."""
        others = [one for one in self.findings.choices if one != size]
        if not others:
            return NATIVE
        return self.findings.choices[min(others, key=lambda one: abs(math.log(one / size)))].spec

    # Between the sizes

    def _break_points(self) -> None:
        """Decide at sizes between others: first where the choice changes, then where it stays the same."""
        passed: set[int] = set()
        for changes in (True, True, True, True, False):
            middles = [
                (middle, (low, high))
                for low, high in itertools.pairwise(self.findings.sorted())
                if (low.spec != high.spec) is changes
                and (low.spec, high.spec) != (NATIVE, NATIVE)
                and (middle := middle_of(low.size, high.size)) is not None
                and middle not in passed
            ]
            for middle, (low, high) in middles:
                self._watch()
                specs = [spec for spec in dict.fromkeys((low.spec, high.spec)) if spec != NATIVE]
                passed.add(middle)
                # The times at the two neighbours predict the times in the middle.
                native = self._times.expected(NATIVE, middle) or low.native.median
                cost = (_LOOKS[0] + 3) * self._times.cost(middle, [NATIVE, *specs])
                if cost > self._measuring.left() / 2:
                    continue
                self._times.at(middle)[NATIVE] = native
                # If both neighbours are faster than `native`, a small gain in few samples changes nothing.
                self._confirm(middle, specs, None, cost, in_doubt_native=NATIVE in (low.spec, high.spec))

    # Whether the cluster stays the same

    def _watch(self) -> None:
        """Measure `native` at one size again: if its time has changed, earlier choices may be wrong."""
        if self._measuring.elapsed() - self._watched < _WATCH_SECONDS:
            return
        if self._reference is None:
            # The call is long enough to measure well, and short enough to measure often.
            size = self._times.nearest(5e-3)
            if self._times.cost(size, [NATIVE]) * _WATCH_SAMPLES < self._measuring.left() / 50:
                self._reference = size, self._reference_time(size)
        else:
            size, then = self._reference
            now = self._reference_time(size)
            if _has_drifted(then, now) and _has_drifted(then, now := self._reference_time(size)):
                self._start_again(size, then, now)
        self._watched = self._measuring.elapsed()

    def _reference_time(self, size: int) -> Estimate:
        known = dict(self._times.at(size))
        samples = self._measuring.measure(size, [NATIVE], _WATCH_SAMPLES)
        self._times.at(size).update(known)
        return estimate_median(samples[NATIVE])

    def _start_again(self, size: int, then: Estimate, now: Estimate) -> None:
        """Confirm all choices again, as the cluster changed; at the second change, end the search."""
        what = (
            f"the cluster changed: native of {format_bytes(size)} took {format_seconds(then.median)}, now it "
            f"takes {format_seconds(now.median)}"
        )
        if self._drifted:
            self._remark(f"{what}; it keeps changing, so the search ended")
            self._measuring.end_now()
            return
        self._drifted = True
        self._reference = size, now
        again = self.findings.sorted()
        self._remark(f"{what}; {len(again)} sizes are measured again" if again else what)
        for choice in again:
            if self._measuring.left() <= 0:
                break
            del self.findings.choices[choice.size]
            specs = [choice.spec] if choice.spec != NATIVE else []
            own = native_by(choice.library) if choice.library else None
            self._confirm(choice.size, specs, own, self._measuring.left() / 4)


def _names(sizes: Sequence[int]) -> str:
    return ", ".join(map(format_bytes, sorted(sizes)))


def _in_order(sizes: Sequence[int]) -> list[int]:
    """Returns the sizes in the order in which they are decided, the most important first.

    Each size is next to a size that is decided before it, whose times predict its times, and the table has
    no gap. Large sizes ascend, since shorter calls show at less cost which candidates are hopeless.
    """
    ascending = sorted(sizes)
    worthy = [size for size in ascending if size >= _WORTHY_BYTES]
    return worthy + ascending[: len(ascending) - len(worthy)][::-1]


def _has_drifted(then: Estimate, now: Estimate) -> bool:
    apart = now.low > then.high or now.high < then.low
    return apart and not 1 / _DRIFT < now.median / then.median < _DRIFT


def middle_of(low: int, high: int) -> int | None:
    """Returns the geometric middle of two sizes, rounded to few digits; None if the sizes are close."""
    if high < _BREAK_RATIO * low * 1.001:
        return None
    middle = math.sqrt(low * high)
    step = 1 << max(0, int(middle).bit_length() - 3)
    rounded = round(middle / step) * step
    return rounded if low * 1.1 < rounded < high / 1.05 else None
