# SPDX-License-Identifier: Apache-2.0
"""Finds the fastest spec of a call by the model, and the choices of MPI libraries for the same call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stretto._core import algorithms, needs_segments, why_unsupported
from stretto.model.walker import Call, Model, link_seconds
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology
from stretto.support.units import parse_bytes
from stretto_research.simulate.library_choices import LIBRARIES, LibraryChoice, library_choice

_SEGMENTS = (4, 16)
_LEAST_SEGMENT = 4 << 10
_SEGMENT_BYTES = ("64KiB", "256KiB", "1MiB", "4MiB")
_MOST_SEGMENTS = 512
# The most that segments gain, by overlapping a core's messages in both directions and its reductions.
_MOST_BY_SEGMENTS = 3.0
# A recipe's time grows at least with the slope since the last size; segments reduce that growth a little.
_CERTAIN = 0.8
_AS_GOOD = 1.02
_CANDIDATES = 10


@dataclass(frozen=True, slots=True)
class OfLibrary:
    """The choice of a library for a call."""

    library: str
    choice: LibraryChoice
    seconds: float


@dataclass(frozen=True, slots=True)
class Advice:
    """The advice for one size."""

    bytes: int
    spec: str
    """The fastest spec; `native` if no library is slower."""
    seconds: float
    """The time of the spec or, for `native`, of the fastest library."""
    bound: float | None
    """The least seconds that the links and one latency allow; None on one node."""
    libraries: tuple[OfLibrary, ...]
    candidates: tuple[str, ...] = ()
    """The fastest specs by the model, best first."""
    by_simulation: bool = False
    """Whether the figures come from simulation, because the model disagrees with it at this size."""

    def gain(self, one: OfLibrary) -> float:
        """How many times faster the spec is than the library; 1 if the library is as fast or faster."""
        return 1.0 if self.spec == NATIVE else max(1.0, one.seconds / self.seconds)

    def spec_for(self, one: OfLibrary) -> str:
        """The spec to use under this library."""
        return self.spec if self.gain(one) > 1.0 else NATIVE


@dataclass(frozen=True, slots=True)
class _Before:
    """The best time of a recipe, whole or in segments, at the last size that was modelled."""

    bytes: int
    seconds: float
    slope: float
    """How the time grows with the size: 1 is linear growth, 0 is none."""

    @classmethod
    def of(cls, size: int, seconds: float, last: _Before | None) -> _Before:
        """The time at a size, with the slope since the last one."""
        if last is None or size <= last.bytes:
            return cls(size, seconds, 0.0)
        slope = math.log(seconds / last.seconds) / math.log(size / last.bytes)
        return cls(size, seconds, min(1.0, max(0.0, slope)))


class Search:
    """The search for one collective on one topology. Ask for sizes in ascending order."""

    def __init__(self, model: Model, collective: str, topology: str) -> None:
        self._model = model
        self._collective = collective
        self._topology = topology
        where = parse_topology(topology)
        self._ranks, self._ppn = where.ranks, where.max_ppn
        self.recipes = [
            recipe
            for algorithm in algorithms()
            if algorithm.collective == collective
            for recipe in algorithm.recipes
            if not why_unsupported(collective, recipe, where)
        ]
        self._before: dict[str, _Before] = {}
        self._last = ""

    def advise(self, size: int) -> Advice:
        """The fastest spec for a size, and the choices of the libraries."""
        call = Call(self._collective, size, self._topology)
        times: dict[str, float] = {}
        least = float("inf")
        at_least = {one: self._at_least(one, size) for one in self.recipes}
        for recipe in sorted(self.recipes, key=at_least.__getitem__):
            if at_least[recipe] > least:
                break  # all that follow take longer as well
            found = self._times(recipe, call, least)
            time = min(found.values())
            self._before[recipe] = _Before.of(size, time, self._before.get(recipe))
            times |= found
            least = min(least, time)
        best = self._steady(times)
        libraries = tuple(self._of_library(one, call) for one in LIBRARIES)
        limit = bound(call, self._model)
        candidates = tuple(sorted(times, key=times.__getitem__)[:_CANDIDATES])
        return Advice(size, *best_of(best, times[best], libraries), limit, libraries, candidates)

    def _times(self, recipe: str, call: Call, to_beat: float) -> dict[str, float]:
        """The times of a recipe, whole and in segments where these may help."""
        times = {recipe: self._model.predict(call, recipe).seconds}
        if times[recipe] < _MOST_BY_SEGMENTS * to_beat or needs_segments(call.collective, recipe):
            for spec in _cut(recipe, call.bytes):
                times[spec] = self._model.predict(call, spec).seconds
        return times

    def _steady(self, times: dict[str, float]) -> str:
        """The fastest spec, or the one for the previous size if it is about as fast."""
        best = min(times, key=times.__getitem__)
        if times.get(self._last, float("inf")) > _AS_GOOD * times[best]:
            self._last = best
        return self._last

    def _at_least(self, recipe: str, size: int) -> float:
        """A lower bound for a recipe's time: more bytes take no less, and growth goes on."""
        before = self._before.get(recipe)
        if before is None:
            return 0.0
        return before.seconds * max(1.0, _CERTAIN * math.pow(size / before.bytes, before.slope))

    def _of_library(self, library: str, call: Call) -> OfLibrary:
        choice = library_choice(library, self._collective, self._ranks, self._ppn, call.bytes)
        return OfLibrary(library, choice, library_seconds(self._model, call, choice))


def best_of(spec: str, seconds: float, libraries: Sequence[OfLibrary]) -> tuple[str, float]:
    """The spec if it is faster than some library; else `native` with the fastest library's time."""
    if seconds < max(one.seconds for one in libraries):
        return spec, seconds
    return NATIVE, min(one.seconds for one in libraries)


def library_seconds(model: Model, call: Call, choice: LibraryChoice) -> float:
    """Seconds of a library's choice, without the overhead of Stretto's engine.

    If Stretto has no spec for it, these are the seconds of the best textbook algorithm.
    """
    if choice.steps:
        where = parse_topology(call.topology)
        inside, among = f"nodes=1,ppn={where.max_ppn}", f"nodes={where.nodes},ppn=1"
        calls = [
            (Call(step.collective, call.bytes, among if step.among_leaders else inside), step.spec)
            for step in choice.steps
        ]
        return sum(model.predict(one, spec, engine=False).seconds for one, spec in calls)
    if choice.spec is None or not model.fits(call, choice.spec):
        return model.predict(call, NATIVE).seconds
    return model.predict(call, choice.spec, engine=False).seconds


def bound(call: Call, model: Model) -> float | None:
    """The least seconds for any algorithm: the bytes on the busiest link, and one latency."""
    links = link_seconds(call, model.machine)
    if links is None:
        return None
    return links + min(one.latency for one in model.machine.protocols("network"))


def search(
    model: Model,
    collective: str,
    topology: str,
    sizes: Sequence[int],
    progress: Callable[[float], None] | None = None,
) -> list[Advice]:
    """The advice for each size; `progress` is called with the part that is done."""
    searching = Search(model, collective, topology)
    found = []
    for at, size in enumerate(sorted(sizes)):
        found.append(searching.advise(size))
        if progress:
            progress((at + 1) / len(sizes))
    return found


def _cut(recipe: str, size: int) -> list[str]:
    """The recipe with segments that are neither too short nor too many."""
    fixed = [f"{recipe}:segments={count}" for count in _SEGMENTS if size >= count * _LEAST_SEGMENT]
    sized = [
        f"{recipe}:segment_bytes={text}"
        for text in _SEGMENT_BYTES
        if _SEGMENTS[-1] < size / parse_bytes(text) <= _MOST_SEGMENTS
    ]
    return [*fixed, *sized]
