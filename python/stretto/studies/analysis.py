# SPDX-License-Identifier: Apache-2.0
"""Computes a study's figures: the MPI default, BEST and Stretto at each size, and the gains.

BEST is the fastest candidate at each size (Castelló et al. 2023, section 4, where AUTO is the MPI default).
Gains are the medians of ratios that were taken in pairs within one run. The candidate with the largest gain
counts as the fastest, so disturbances that slow the MPI default and a candidate alike do not count.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.results.runs import BLOCKING, Row
from stretto.spec.labels import Kind, kind_of
from stretto.spec.native import NATIVE
from stretto.support.estimates import Estimate

# The sizes over which the gain is averaged, in bytes: the usual sizes in distributed training.
MIDDLE = (256 << 10, 16 << 20)
# If ranks have equal blocks, messages are cut to whole blocks. A little less still counts as the size.
_CUT = 0.99


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """The figures of one message size in one run."""

    bytes: int
    native: Row
    """The MPI default."""
    best: Row
    """The candidate with the largest gain; the MPI default itself if none is faster."""
    stretto: Row | None
    library: Row | None
    """The fastest of the library's own algorithms; None if none was measured."""
    pipelining: Row | None
    """The fastest of the library's non-blocking calls, whole or in segments."""

    @property
    def in_middle(self) -> bool:
        """Whether the size counts for the mean gain."""
        return MIDDLE[0] * _CUT <= self.bytes <= MIDDLE[1]


def gain_of(row: Row) -> Estimate:
    """Returns how many times as fast as the MPI default the row is, paired by repetition."""
    if row.speedup is None:
        raise ValueError(f"{row.series.spec}: the MPI default was not measured beside it")
    return row.speedup


def plain(rows: Iterable[Row]) -> list[Row]:
    """Returns the rows to compare.

    They are blocking calls of the collective itself, out of place, measured beside the MPI default.
    """
    return [
        row
        for row in rows
        if row.speedup is not None
        and row.series.form == BLOCKING
        and not row.series.in_place
        and not row.series.mockup
    ]


def by_size(rows: Iterable[Row]) -> list[SizeFigures]:
    """Returns the figures of each size, in ascending order."""
    sizes: dict[int, list[Row]] = {}
    for row in plain(rows):
        sizes.setdefault(row.series.bytes, []).append(row)
    figures = []
    for size, found in sorted(sizes.items()):
        native = _fastest(found, Kind.NATIVE)
        if native is None:
            continue
        figures.append(
            SizeFigures(
                size,
                native,
                max((row for row in found if not _is_native_again(row)), key=_median_gain),
                _fastest(found, Kind.STRETTO),
                _fastest(found, Kind.LIBRARY),
                _fastest(found, Kind.PIPELINING),
            )
        )
    return figures


def _fastest(rows: Iterable[Row], kind: Kind) -> Row | None:
    of_kind = [row for row in rows if kind_of(row.series.spec) == kind]
    return max(of_kind, key=_median_gain, default=None)


def _is_native_again(row: Row) -> bool:
    """Whether Stretto chose the MPI default. Then both make the same call, and a difference is noise."""
    return row.series.spec != NATIVE and row.series.chosen == NATIVE


def _median_gain(row: Row) -> float:
    return gain_of(row).median


@dataclass(frozen=True, slots=True)
class Means:
    """Geometric means of the gains over the MPI default at the sizes of MIDDLE; None if there are none."""

    best: float | None
    stretto: float | None
    library: float | None
    pipelining: float | None


def mean_gains(figures: Sequence[SizeFigures]) -> Means:
    """Returns the mean gains over the sizes of MIDDLE."""
    middle = [one for one in figures if one.in_middle]
    return Means(
        _mean(one.best for one in middle),
        _mean(one.stretto for one in middle),
        _mean(one.library for one in middle),
        _mean(one.pipelining for one in middle),
    )


def _mean(rows: Iterable[Row | None]) -> float | None:
    gains = [gain_of(row).median for row in rows if row is not None]
    return statistics.geometric_mean(gains) if gains else None


@dataclass(frozen=True, slots=True)
class Ranked:
    """The place of a library at one size."""

    row: Row
    rank: int
    """1 is the fastest."""
    ratio: float
    """The library's time relative to the fastest library's."""


def ranking(rows: Sequence[Row | None]) -> list[Ranked | None]:
    """Returns the places of several libraries at one size, in the order in which they are given.

    The libraries ran one after the other, not in turns, so small differences between them mean nothing.
    """
    times = sorted(row.seconds.median for row in rows if row is not None)
    return [
        Ranked(row, 1 + times.index(row.seconds.median), row.seconds.median / times[0]) if row else None
        for row in rows
    ]
