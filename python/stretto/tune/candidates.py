# SPDX-License-Identifier: Apache-2.0
"""The specs that `stretto tune` tries: the registry's algorithms with parameters, and the library's own
algorithms."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto import _core
from stretto.spec.native import NATIVE, library_name, native_by, usable
from stretto.spec.topologies import parse_topology

_KIB = 1 << 10
# Message sizes of pipelined schedules. They are large compared with the cost of a message, but small enough
# to be sent eagerly. Other sizes are tried for the winners.
_USUAL_MESSAGES = (32 * _KIB, 8 * _KIB)
_LEAST_SEGMENT = 4 * _KIB
_MOST_SEGMENTS = 1024
_RADIXES = (3, 4, 8)
_WINDOWS = (2, 32)  # the default is 8
_NATIVE_SEGMENTS = (2, 4, 8)
_LEAST_NATIVE_SEGMENT = 16 * _KIB

# Algorithms of Open MPI that cut messages into segments if a size is set.
_CUTS_MESSAGES = {
    "segmented_ring", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial",
    "binary", "in-order_binary",
}  # fmt: skip
_LIBRARY_SEGMENTS = (64 * _KIB, 512 * _KIB)


@dataclass(frozen=True)
class Candidates:
    """The specs that are worth trying for one collective on one topology."""

    collective: str
    topology: str
    library: Sequence[str] = ()
    """Names of the MPI library's own algorithms."""
    cuts_native: bool = True
    """Whether `native` is tried in segments, as several of the library's non-blocking calls at once."""

    def all(self, size: int) -> list[str]:
        """Returns the specs to start with at a size, without `native`."""
        specs = [*self._whole_and_cut(size), *self._native_in_segments(size), *self._of_library(size)]
        return list(dict.fromkeys(specs))

    def variants(self, spec: str, size: int) -> list[str]:
        """Returns the spec with the next smaller and larger segments, and with other windows."""
        name = library_name(spec)
        if name is not None:
            return self._library_variants(name, size)
        head, _, text = spec.partition(":window=")[0].partition(":segment_bytes=")
        if spec.startswith(f"{NATIVE}:"):
            segments = int(spec.rpartition("=")[2])
            return [f"{NATIVE}:segments={k}" for k in (segments // 2, segments * 2) if k > 1]
        if head not in self._recipes or not self._can_be_cut(head):
            return []
        if not text:
            return self._cut(head, size, (32 * _KIB,))
        now = _core.parse_spec(spec, self.collective).segment_bytes
        others = [
            head,
            *(_with_segment(head, bytes_) for bytes_ in (now // 4, now * 4) if _is_cut(bytes_, size)),
        ]
        # If there are few segments, all of them are in flight with any window.
        windows = [window for window in _WINDOWS if window < size // now and ":window=" not in spec]
        others += [f"{_with_segment(head, now)}:window={window}" for window in windows]
        return [self._spelled(other) for other in others]

    @functools.cached_property
    def _where(self) -> _core.Topology:
        return parse_topology(self.topology)

    @functools.cached_property
    def _recipes(self) -> list[str]:
        """The algorithms, with their radixes and parts, that support the topology."""
        recipes = [
            recipe
            for algorithm in _core.algorithms()
            if algorithm.collective == self.collective
            for recipe in _with_parameters(algorithm, self._where.ranks)
        ]
        fitting = [one for one in recipes if not _core.why_unsupported(self.collective, one, self._where)]
        return list(dict.fromkeys(map(self._spelled, fitting)))

    def _spelled(self, spec: str) -> str:
        return str(_core.parse_spec(spec, self.collective))

    def _can_be_cut(self, recipe: str) -> bool:
        name = re.split("[(:]", recipe, maxsplit=1)[0]
        return not any(
            one.moves_runs
            for one in _core.algorithms()
            if (one.collective, one.name) == (self.collective, name)
        )

    def _cut(self, recipe: str, size: int, messages: Iterable[int]) -> list[str]:
        """Returns the recipe in segments, by the first of `messages` that cuts the call's message."""
        if not self._can_be_cut(recipe):
            return []
        for message in messages:
            segment = _power_of_two(message * _blocks(self.collective, recipe, self.topology))
            if _is_cut(segment, size):
                return [self._spelled(_with_segment(recipe, segment))]
        return []

    def _whole_and_cut(self, size: int) -> list[str]:
        return [
            spec for recipe in self._recipes for spec in (recipe, *self._cut(recipe, size, _USUAL_MESSAGES))
        ]

    def _native_in_segments(self, size: int) -> list[str]:
        if not self.cuts_native:
            return []
        return [
            f"{NATIVE}:segments={segments}"
            for segments in _NATIVE_SEGMENTS
            if size >= segments * _LEAST_NATIVE_SEGMENT
        ]

    def _of_library(self, size: int) -> list[str]:
        specs = []
        for name in usable(self.library, self._where.ranks):
            specs.append(native_by(name))
            if name in _CUTS_MESSAGES and size > _LIBRARY_SEGMENTS[0]:
                specs.append(_library_with_segment(name, _LIBRARY_SEGMENTS[0]))
        return specs

    def _library_variants(self, name: str, size: int) -> list[str]:
        algorithm = name.partition(":")[0]
        if algorithm not in _CUTS_MESSAGES:
            return []
        return [_library_with_segment(algorithm, segment) for segment in _LIBRARY_SEGMENTS if segment < size]


def _with_parameters(algorithm: _core.Algorithm, ranks: int) -> list[str]:
    if not algorithm.usual_radix:
        return algorithm.recipes
    return [algorithm.usual, *(f"{algorithm.name}:radix={radix}" for radix in _RADIXES if radix <= ranks)]


@functools.cache
def _blocks(collective: str, recipe: str, topology: str) -> int:
    return _core.build(collective, recipe, parse_topology(topology), 0, 0).blocks


def _power_of_two(number: int) -> int:
    """Returns the smallest power of two that is at least `number`."""
    return 1 << max(0, number - 1).bit_length()


def _is_cut(segment: int, size: int) -> bool:
    return segment >= _LEAST_SEGMENT and 2 * segment <= size <= _MOST_SEGMENTS * segment


def _with_segment(recipe: str, segment: int) -> str:
    return f"{recipe}:segment_bytes={segment}"


def _library_with_segment(name: str, segment: int) -> str:
    return native_by(f"{name}:segment_bytes={segment // _KIB}KiB")
