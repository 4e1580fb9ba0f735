# SPDX-License-Identifier: Apache-2.0
"""Finds the finalists of one size, by rounds of interleaved samples in which slower specs are dropped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from stretto.spec.native import NATIVE, library_name
from stretto.support.estimates import slowdown
from stretto.tune.evidence import EQUAL
from stretto.tune.findings import Pool
from stretto.tune.measuring import Measuring

# With few samples, a spec is dropped only if it is far behind. By the number of samples: how many times as
# slow as the best it must be.
_FAR_BEHIND = {1: 2.0, 2: 1.3, 3: 1.15, 4: 1.1, 5: 1.08}
_BEHIND = 1.02
_FEWEST = 3  # candidates that halving leaves
_GROUP = 6  # specs that are looked at together
_ENOUGH = 60  # samples of the best before it is confirmed
_SCREENING = 0.35  # share of a size's time
_EXPLORING = 0.6  # share of a size's time, screening included


class Explorer:
    """Explores the candidates of one kind of call, size by size."""

    def __init__(
        self,
        measuring: Measuring,
        candidates: Callable[[int], list[str]],
        variants: Callable[[str, int], list[str]],
        rule: Callable[[int], str],
        report: Callable[[str], None],
    ) -> None:
        """`rule`: returns the spec that is always tried at a size."""
        self._measuring = measuring
        self._times = measuring.times
        self._candidates = candidates
        self._variants = variants
        self._rule = rule
        self._report = report

    def explore(self, size: int, share: float, previous: Iterable[str]) -> tuple[list[str], str | None]:
        """Returns at most three finalists, the best first, and the best of the library's own algorithms.

        `share`: the seconds for this size; exploring takes a part of them. `previous`: choices at other
        sizes. There are no finalists if no spec comes near `native`.
        """
        begin = self._measuring.elapsed()
        screened, end = begin + _SCREENING * share, begin + _EXPLORING * share
        pool = Pool()
        what = self._measuring.name_at(size)
        specs = self._affordable(size, _SCREENING * share, previous)
        self._report(f"{what}: {len(specs)} candidates")
        specs = self._look(size, specs, screened)
        seconds = screened - self._measuring.elapsed()
        specs = self._within(size, specs, 3 * self._times.cost(size, [NATIVE]), seconds)
        specs = self._round(size, pool, [NATIVE, *specs], seconds)
        variants = [one for spec in specs[:2] if spec != NATIVE for one in self._variants(spec, size)]
        more = [one for one in dict.fromkeys(variants) if one not in self._times.at(size)]
        while len(specs) > 1 and (seconds := end - self._measuring.elapsed()) > self._times.cost(size, specs):
            if more:
                self._report(f"{what}: with other parameters")
                more = self._within(size, more, 3 * self._times.cost(size, specs), seconds / 2)
            else:
                self._report(f"{what}: the best {len(specs)}")
            specs, more = self._round(size, pool, [*specs, *more], seconds / (2 if more else 1)), []
            if _are_equal(pool, specs) or len(pool.seconds(specs[0])) > _ENOUGH:
                break
        finalists = _finalists(pool, [spec for spec in specs if self._measuring.may_be_chosen(spec)])
        return finalists, self._best_library(pool, finalists)

    def _affordable(self, size: int, seconds: float, previous: Iterable[str]) -> list[str]:
        """Returns the candidates for which there is time, the most promising first."""
        specs = dict.fromkeys([*self._candidates(size), *previous])
        expected = {spec: self._times.expected(spec, size) for spec in specs}
        unknown = [spec for spec, time in expected.items() if time is None]
        known = sorted(
            (spec for spec in expected if expected[spec] is not None), key=lambda spec: expected[spec] or 0
        )
        # If few are unknown, they go first. If most are, the registry's order is as good as any other.
        order = [*known, *unknown] if len(unknown) > len(known) else [*unknown, *known]
        chosen = self._within(size, order, 3 * self._times.cost(size, [NATIVE]), seconds)
        own = [spec for spec in order if library_name(spec) is not None]
        if own and not self._measuring.library_apart and not any(spec in chosen for spec in own):
            chosen.append(own[0])
        return [spec for spec in dict.fromkeys([self._rule(size), *chosen]) if spec != NATIVE]

    def _look(self, size: int, specs: Sequence[str], end: float) -> list[str]:
        """Takes one sample of each spec. Returns the specs that are not hopeless, the fastest first.

        Specs are measured in small groups, and no group begins after the end: the time of an unknown spec is
        known only afterwards.
        """
        seen: list[str] = []
        for at in range(0, len(specs), _GROUP):
            if seen and self._measuring.elapsed() > min(end, self._measuring.until):
                break
            seen += self._measuring.measure(size, specs[at : at + _GROUP], 1)
        known = self._times.at(size)
        most = _FAR_BEHIND[1] * self._fastest(size)
        return sorted((one for one in seen if known[one] <= most), key=known.__getitem__)

    def _fastest(self, size: int) -> float:
        """Returns the shortest known time of a call by `native` or a spec that can be chosen.

        A spec that cannot be chosen must not displace one that can.
        """
        times = self._times.at(size)
        return min(times[one] for one in times if one == NATIVE or self._measuring.may_be_chosen(one))

    def _within(self, size: int, specs: Sequence[str], spent: float, seconds: float) -> list[str]:
        """Returns as many specs as can be called three times in the time, without hopeless specs."""
        result: list[str] = []
        best = self._fastest(size)
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
        """Measure some samples of all specs. Returns the specs that are left, the best first."""
        specs = list(dict.fromkeys(specs))
        repetitions = int(max(2, min(30, seconds / max(self._times.cost(size, specs), 1e-9) - 2)))
        pool.add(self._measuring.measure(size, specs, repetitions))
        measured = sorted((spec for spec in specs if pool.seconds(spec)), key=pool.median)
        # A spec that cannot be chosen must not displace one that can.
        apart = [spec for spec in measured if spec != NATIVE and not self._measuring.may_be_chosen(spec)]
        others = [spec for spec in measured if spec not in apart]
        kept = [spec for spec in others if spec == others[0] or not _is_behind(pool, others[0], spec)]
        return kept[: max(_FEWEST, math.ceil(len(others) / 2))] + apart[:1]

    def _best_library(self, pool: Pool, finalists: Sequence[str]) -> str | None:
        """Returns the best of the library's own algorithms, if it is worth recording."""
        own = [spec for spec in pool.specs() if library_name(spec)]
        if not own:
            return None
        best = min(own, key=pool.median)
        is_worth = (
            self._measuring.library_apart
            or best in finalists
            or pool.median(best) < pool.median(NATIVE) / EQUAL
        )
        return best if is_worth else None


def _finalists(pool: Pool, specs: Sequence[str]) -> list[str]:
    """Returns the best three. If the best is the library's own, a nearby spec of Stretto's comes second."""
    if not specs or not library_name(specs[0]):
        return list(specs[:3])
    own = [spec for spec in pool.specs() if spec != NATIVE and not library_name(spec)]
    nearest = min(own, key=pool.median, default=None)
    if nearest is None or pool.median(nearest) > _FAR_BEHIND[2] * pool.median(specs[0]):
        return list(specs[:3])
    return list(dict.fromkeys([specs[0], nearest, *specs[1:]]))[:3]


def _is_behind(pool: Pool, leader: str, spec: str) -> bool:
    fast, slow = pool.paired(leader, spec)
    if not fast:
        return pool.median(spec) > _FAR_BEHIND[1] * pool.median(leader)
    return slowdown(fast, slow).low > _FAR_BEHIND.get(len(fast), _BEHIND)


def _are_equal(pool: Pool, specs: Sequence[str]) -> bool:
    """Whether the specs are equal beyond doubt, so that more samples would not be useful."""
    ratios = [slowdown(*pool.paired(specs[0], spec)) for spec in specs[1:] if pool.paired(specs[0], spec)[0]]
    return bool(ratios) and all(ratio.high < EQUAL and ratio.low > 1 / EQUAL for ratio in ratios)
