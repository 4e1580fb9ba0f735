# SPDX-License-Identifier: Apache-2.0
"""Which spec is fastest at which size: decided by measurements, within a time that is given.

Nothing here knows MPI: what is measured, and the clock, come from a `Bench`.

At each size, from the smallest up:
1. *Survey*: the library by itself (`native`), so that the time can be dealt out: a size gets a part that
   grows with the root of what its calls take.
2. *Explore*: as many candidates as the time allows, in the order of what they are expected to take (by the
   model, by what they took at smaller sizes), all interleaved; who is clearly behind is dropped, then the
   worse half; the best are tried with other parameters; until one is ahead or all that are left are equal.
3. *Confirm*: fresh samples of the best, of `native` and of the runner-up, since the best of many measurements
   is partly luck. A spec is chosen only if it is faster than `native` beyond noise (tuning_evidence.py).
Then break points: where neighbouring sizes chose otherwise, the size in between is decided among the two.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from stretto.spec.native import NATIVE, library_name, native_by
from stretto.support.errors import StrettoError
from stretto.support.estimates import Estimate, estimate_median, slowdown
from stretto.support.units import format_bytes, format_seconds
from stretto.tune.evidence import EQUAL, Evidence
from stretto.tune.findings import CallKind, Choice, Findings, Pool, Samples
from stretto.tune.times import Predict, Times, no_prediction

_LOOKS = (7, 7, 14)  # samples more, of calls that take long; of others several times as many
_MOST_TIMES = 4
# Nobody is dropped by few samples unless far behind: by how much, with so many of them.
_FAR_BEHIND = {1: 2.0, 2: 1.3, 3: 1.15, 4: 1.1, 5: 1.08}
_BEHIND = 1.02
_FEWEST = 3  # candidates that halving leaves
_ENOUGH = 60  # samples of the best before it is confirmed
# A size is measured only if there is time for so many calls of `native` there.
_LEAST_CALLS = 20
_RESERVE = 0.2  # of the time, for break points
_SCREENING = 0.35  # of a size's time
_EXPLORING = 0.6  # with the screening
_BREAK_RATIO = 1.25  # break points are not narrowed down further
_WATCH_SECONDS = 20.0
_WATCH_SAMPLES = 7
_DRIFT = 1.5


class Bench(Protocol):
    """What measures."""

    def measure(
        self, kind: CallKind, size: int, specs: Sequence[str], repetitions: int, seconds: float
    ) -> Samples:
        """Seconds of a call by each spec, interleaved: those of one index belong together.

        `seconds` is what it is expected to take. What cannot be measured, or is wrong, is left out.
        """

    def elapsed(self) -> float:
        """Seconds since the tuning began."""


class TooShortError(StrettoError):
    """The time does not suffice to measure anything."""


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
        """`until`: when it must end, by the bench's clock. `rule`: what is tried at a size in any event.

        `findings` and `times` (by size and spec): of a search that was interrupted.
        `library_apart`: the library cannot be told to take one of its algorithms at some sizes only, so
        that none is chosen; the best is written down all the same, even where `native` is faster.
        """
        self._bench = bench
        self._kind = kind
        self._candidates = candidates
        self._variants = variants
        self._until = until
        self._rule = rule
        self._report = report
        self._chosen = chosen
        self.findings = findings or Findings()
        self._library_apart = library_apart
        self._times = Times(kind.collective, predict, times, library_apart=library_apart)
        self._watched = -math.inf
        self._reference: tuple[int, Estimate] | None = None
        self._drifted = False

    def run(self, sizes: Sequence[int]) -> Findings:
        """Decide at these sizes and, as time allows, between them. Raises TooShortError."""
        self._recall()
        sizes = self._survey(sorted(sizes))
        for at, size in enumerate(sizes):
            if size in self.findings.choices:
                continue
            self._watch()
            if self._left() <= 0:
                self._remark(
                    f"no time was left for {format_bytes(size)} and more: the table says nothing of them"
                )
                break
            self._decide_at(size, self._share(sizes, at))
        self._break_points()
        return self.findings

    # Time

    def _left(self) -> float:
        return self._until - self._bench.elapsed()

    def _share(self, sizes: Sequence[int], at: int) -> float:
        """Seconds for a size: what the larger ones need is kept for them."""
        left_over = [size for size in sizes[at:] if size not in self.findings.choices]
        weights = [math.sqrt(self._times.cost(size, [NATIVE])) for size in left_over]
        left = self._left() * (1 - _RESERVE if len(sizes) > 1 else 1)
        least = _LEAST_CALLS * self._times.native(sizes[at])
        return max(least, left * weights[0] / sum(weights))

    # Measuring

    def _measure(self, size: int, specs: Sequence[str], repetitions: int) -> Samples:
        """Fresh samples. Specs may be missing; `native` never is."""
        specs = list(dict.fromkeys(specs))
        known = self._times.at(size)
        new = [spec for spec in specs if spec not in known]
        cost = self._times.cost(size, specs) * repetitions + 2 * self._times.cost(size, new) if known else 0.0
        samples = self._bench.measure(self._kind, size, specs, repetitions, cost)
        if NATIVE in specs and NATIVE not in samples:
            raise StrettoError(
                f"{self._kind.name} of {format_bytes(size)}: the library's own result is wrong"
            )
        for spec, seconds in samples.items():
            known[spec] = statistics.median(seconds)
        return samples

    def _recall(self) -> None:
        """What an interrupted search found helps the others."""
        for choice in self.findings.sorted():
            known = self._times.at(choice.size)
            known[NATIVE] = choice.native.median
            known[choice.spec] = choice.seconds.median

    def _remark(self, text: str) -> None:
        self.findings.remarks.append(f"{self._kind.name}: {text}")

    # Survey

    def _survey(self, sizes: list[int]) -> list[int]:
        """The sizes for which there is time, with the library's own times."""
        planned = 0.0
        for at, size in enumerate(sizes):
            done = size in self.findings.choices
            guess = self._times.expected(NATIVE, size) or 0.0
            if not done and planned + _LEAST_CALLS * guess > self._left():
                return self._cut_short(sizes, at)
            if not done:
                self._report(f"{self._kind.name} {format_bytes(size)}: native")
                self._measure(size, [NATIVE], 3)
                planned += _LEAST_CALLS * self._times.native(size)
            if planned > self._left():
                return self._cut_short(sizes, at)
        return sizes

    def _cut_short(self, sizes: list[int], at: int) -> list[int]:
        if at == 0:
            raise TooShortError(
                f"{self._kind.name}: in {format_seconds(max(self._left(), 0.0))} nothing can be measured of "
                f"{format_bytes(sizes[0])}; give a larger --budget, or other --sizes"
            )
        self._remark(
            f"{format_bytes(sizes[at])} and more would take too long for the budget, and were left out: "
            f"the table says nothing of them"
        )
        return sizes[:at]

    # One size

    def _decide_at(self, size: int, share: float) -> None:
        end = self._bench.elapsed() + share
        pool = Pool()
        finalists = self._explore(size, pool, end - (1 - _EXPLORING) * share, share)
        library = self._best_library(pool, finalists)
        self._confirm(size, finalists, library, end - self._bench.elapsed())

    def _explore(self, size: int, pool: Pool, end: float, share: float) -> list[str]:
        """The best first, at most three; empty if nothing comes near `native`."""
        what = f"{self._kind.name} {format_bytes(size)}"
        specs = self._affordable(size, _SCREENING * share)
        self._report(f"{what}: {len(specs)} candidates")
        specs = self._round(size, pool, [NATIVE, *specs], _SCREENING * share)
        variants = [one for spec in specs[:2] if spec != NATIVE for one in self._variants(spec, size)]
        more = [one for one in dict.fromkeys(variants) if one not in self._times.at(size)]
        while len(specs) > 1 and (seconds := end - self._bench.elapsed()) > self._times.cost(size, specs):
            if more:
                self._report(f"{what}: with other parameters")
                more = self._within(size, more, 3 * self._times.cost(size, specs), seconds / 2)
            else:
                self._report(f"{what}: the best {len(specs)}")
            specs, more = self._round(size, pool, [*specs, *more], seconds / (2 if more else 1)), []
            if self._are_equal(pool, specs) or len(pool.seconds(specs[0])) > _ENOUGH:
                break
        return self._finalists(pool, [spec for spec in specs if self._may_be_chosen(spec)])

    @staticmethod
    def _finalists(pool: Pool, specs: Sequence[str]) -> list[str]:
        """The best; beside one of the library's own, of which it must be told, another as good."""
        if not specs or not library_name(specs[0]):
            return list(specs[:3])
        own = [spec for spec in pool.specs() if spec != NATIVE and not library_name(spec)]
        nearest = min(own, key=pool.median, default=None)
        if nearest is None or pool.median(nearest) > _FAR_BEHIND[2] * pool.median(specs[0]):
            return list(specs[:3])
        return list(dict.fromkeys([specs[0], nearest, *specs[1:]]))[:3]

    def _may_be_chosen(self, spec: str) -> bool:
        return spec != NATIVE and not (self._library_apart and library_name(spec) is not None)

    def _affordable(self, size: int, seconds: float) -> list[str]:
        """The candidates for which there is time, those that promise most first."""
        specs = self._candidates(size)
        previous = [choice.spec for choice in self.findings.choices.values() if choice.spec != NATIVE]
        expected = {spec: self._times.expected(spec, size) for spec in dict.fromkeys([*specs, *previous])}
        unknown = [spec for spec, time in expected.items() if time is None]
        known = sorted(
            (spec for spec in expected if expected[spec] is not None), key=lambda spec: expected[spec] or 0
        )
        # Nothing is known of a few: they go first. Of most: the table's order is as good as any.
        order = [*known, *unknown] if len(unknown) > len(known) else [*unknown, *known]
        chosen = self._within(size, order, 3 * self._times.cost(size, [NATIVE]), seconds)
        own = [spec for spec in order if library_name(spec) is not None]
        if own and not self._library_apart and not any(spec in chosen for spec in own):
            chosen.append(own[0])
        return [spec for spec in dict.fromkeys([self._rule(size), *chosen]) if spec != NATIVE]

    def _within(self, size: int, specs: Sequence[str], spent: float, seconds: float) -> list[str]:
        """As many as can be called three times in the time; what is hopeless is left out."""
        result: list[str] = []
        best = min(self._times.at(size).values())
        for spec in specs:
            time = self._times.expected(spec, size)
            if time is not None and time > 4 * best:
                continue
            spent += 3 * self._times.cost(size, [spec])
            if spent > seconds and len(result) >= _FEWEST:
                break
            result.append(spec)
        return result

    def _round(self, size: int, pool: Pool, specs: Sequence[str], seconds: float) -> list[str]:
        """Some samples of all; who is left, the best first."""
        specs = list(dict.fromkeys(specs))
        repetitions = int(max(2, min(30, seconds / max(self._times.cost(size, specs), 1e-9) - 2)))
        pool.add(self._measure(size, specs, repetitions))
        measured = sorted((spec for spec in specs if pool.seconds(spec)), key=pool.median)
        # What cannot be chosen must not oust what can.
        apart = [spec for spec in measured if spec != NATIVE and not self._may_be_chosen(spec)]
        others = [spec for spec in measured if spec not in apart]
        kept = [spec for spec in others if spec == others[0] or not self._is_behind(pool, others[0], spec)]
        return kept[: max(_FEWEST, math.ceil(len(others) / 2))] + apart[:1]

    @staticmethod
    def _is_behind(pool: Pool, leader: str, spec: str) -> bool:
        fast, slow = pool.paired(leader, spec)
        if not fast:
            return pool.median(spec) > _FAR_BEHIND[1] * pool.median(leader)
        return slowdown(fast, slow).low > _FAR_BEHIND.get(len(fast), _BEHIND)

    @staticmethod
    def _are_equal(pool: Pool, specs: Sequence[str]) -> bool:
        """Whether more samples would tell nothing that matters."""
        ratios = [
            slowdown(*pool.paired(specs[0], spec)) for spec in specs[1:] if pool.paired(specs[0], spec)[0]
        ]
        return bool(ratios) and all(ratio.high < EQUAL and ratio.low > 1 / EQUAL for ratio in ratios)

    def _best_library(self, pool: Pool, finalists: Sequence[str]) -> str | None:
        """Of the library's own algorithms the one that is worth writing down."""
        own = [spec for spec in pool.specs() if library_name(spec)]
        if not own:
            return None
        best = min(own, key=pool.median)
        is_worth = self._library_apart or best in finalists or pool.median(best) < pool.median(NATIVE) / EQUAL
        return best if is_worth else None

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
        """Decide by fresh samples among the finalists. In doubt `native` is chosen, or nothing is."""
        before = self._before(size)
        wanted = [NATIVE, *finalists[:2]]
        if before in finalists:
            wanted.append(before)
        if library is not None:
            wanted.append(library)
        # What counts least goes where there is no time for all.
        specs = list(dict.fromkeys(wanted))
        while len(specs) > 2 and self._times.cost(size, specs) * _LOOKS[0] > max(seconds, self._left() / 4):
            specs.pop()
        if len(specs) > 1 and self._times.cost(size, specs) * _LOOKS[0] > self._left():
            self._remark(f"no time was left to confirm {specs[1]} at {format_bytes(size)}: native stays")
            specs = [NATIVE]
        self._report(f"{self._kind.name} {format_bytes(size)}: {' against '.join(specs)}")
        # The twin's calls take about as long.
        cost = self._times.cost(size, specs) * (2 if self._kind.twin else 1)
        times = max(1, min(_MOST_TIMES, int(seconds / (sum(_LOOKS) * cost))))
        end = self._bench.elapsed() + max(seconds, self._left() / 10)
        evidence = Evidence(self._may_be_chosen)
        for look in _LOOKS if len(specs) > 1 else (_FEWEST,):
            samples = self._measure(size, specs, times * look)
            evidence.add(samples, self._measure_twin(size, samples, times * look))
            specs = evidence.specs()
            if evidence.is_settled() or cost * times * look > end - self._bench.elapsed():
                break
        spec = evidence.choose(before, in_doubt_native=in_doubt_native)
        if spec is None:
            return
        if self._kind.twin and (gain := evidence.gain_of_twin(spec)):
            twin = f"{self._kind.twin.name}, {gain.median:.2f} times as fast"
            self._remark(f"{spec} at {format_bytes(size)} is for {twin}")
        self.findings.choices[size] = evidence.choice(size, spec)
        self._chosen(self.findings.choices[size])

    def _measure_twin(self, size: int, specs: Iterable[str], repetitions: int) -> Samples:
        """The other function that the choice is for, by what it has in common with this one."""
        twin = self._kind.twin
        specs = [spec for spec in specs if not library_name(spec)]
        if twin is None or specs == [NATIVE]:
            return {}
        return self._bench.measure(
            twin, size, specs, repetitions, self._times.cost(size, specs) * repetitions
        )

    def _before(self, size: int) -> str:
        """What was chosen at the nearest smaller size."""
        below = [one for one in self.findings.choices if one < size]
        return self.findings.choices[max(below)].spec if below else NATIVE

    # Between the sizes

    def _break_points(self) -> None:
        """Sizes in between: first where the choice changes, then in the middle of where it stays the same."""
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
                # The parent sizes tell what to expect of the middle.
                native = self._times.expected(NATIVE, middle) or low.native.median
                cost = (_LOOKS[0] + 3) * self._times.cost(middle, [NATIVE, *specs])
                if cost > self._left() / 2:
                    continue
                self._times.at(middle)[NATIVE] = native
                # Where both beside it are faster than the library, few samples of little gain change nothing.
                self._confirm(middle, specs, None, cost, in_doubt_native=NATIVE in (low.spec, high.spec))

    # Whether the cluster stays the same

    def _watch(self) -> None:
        """Look at the library's own time at one size again: if it has changed, choices may be wrong."""
        if self._bench.elapsed() - self._watched < _WATCH_SECONDS:
            return
        if self._reference is None:
            # Long enough to be measured well, and short enough to be measured often.
            size = self._times.nearest(5e-3)
            if self._times.cost(size, [NATIVE]) * _WATCH_SAMPLES < self._left() / 50:
                self._reference = size, self._reference_time(size)
        else:
            size, then = self._reference
            now = self._reference_time(size)
            if _has_drifted(then, now) and _has_drifted(then, now := self._reference_time(size)):
                self._start_again(size, then, now)
        self._watched = self._bench.elapsed()

    def _reference_time(self, size: int) -> Estimate:
        known = dict(self._times.at(size))
        samples = self._measure(size, [NATIVE], _WATCH_SAMPLES)
        self._times.at(size).update(known)
        return estimate_median(samples[NATIVE])

    def _start_again(self, size: int, then: Estimate, now: Estimate) -> None:
        """The choices so far are for another cluster: they are confirmed once more, or the tuning ends."""
        what = (
            f"the cluster changed: native of {format_bytes(size)} took {format_seconds(then.median)}, and "
            f"now {format_seconds(now.median)}"
        )
        if self._drifted:
            self._remark(f"{what}; it keeps changing, so no more was measured")
            self._until = self._bench.elapsed()
            return
        self._drifted = True
        self._reference = size, now
        again = self.findings.sorted()
        self._remark(f"{what}; {len(again)} sizes are measured again" if again else what)
        for choice in again:
            if self._left() <= 0:
                break
            specs = [choice.spec] if choice.spec != NATIVE else []
            own = native_by(choice.library) if choice.library else None
            self._confirm(choice.size, specs, own, self._left() / 4)


def _has_drifted(then: Estimate, now: Estimate) -> bool:
    apart = now.low > then.high or now.high < then.low
    return apart and not 1 / _DRIFT < now.median / then.median < _DRIFT


def middle_of(low: int, high: int) -> int | None:
    """A size between two, in the middle by ratio, with few digits; None if they are near each other."""
    if high < _BREAK_RATIO * low * 1.001:
        return None
    middle = math.sqrt(low * high)
    step = 1 << max(0, int(middle).bit_length() - 3)
    rounded = round(middle / step) * step
    return rounded if low * 1.1 < rounded < high / 1.05 else None
