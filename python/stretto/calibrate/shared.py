# SPDX-License-Identifier: Apache-2.0
"""Fits the times of the engine's messages through the shared memory of a node.

The measured calls have two ranks (src/bench/calibration/phases/shared.cpp), and the engine carries them out
directly (docs/shared-memory.md). Let a message have `k` pieces, let each end of a piece cost an overhead of
`o` seconds, and let a core write, read and reduce a byte in 1/w, 1/r and 1/x seconds. Then n bytes take

    exchange  2 k o + n/w + n/x, since the data that arrives is reduced
    ring      two rounds of half the vector: the first one reduces, the second one reads
    one-way   the reader works on one piece while the writer copies the next: the slower one counts

A message of one piece takes a latency on top. In longer ones, the latency hides behind the writing of the
next piece. Reading is taken to be slower than writing, because the lines come from another core's cache. The
overhead of a call counts as overhead of its pieces. If there is only one piece, it counts as latency, half of
it in each round of a ring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stretto import _core
from stretto.calibrate.points import Measured, Points
from stretto.calibrate.reduction import RateFit, fit_reduction
from stretto.model.machine_file import SharedMemory
from stretto.support.robust import Array, Typical, spread

_FLOWS = ("exchange", "ring", "one-way")
_LONGEST_OF_PIECES = 64 << 10
"""The longest vectors to which the overhead of a piece is fitted. They stay in the core's own caches."""
_LEAST_SHARE = 0.1
"""The least share of a message's time that either end takes."""


@dataclass(frozen=True, slots=True)
class SharedFit:
    """The figures with their errors."""

    latency: float
    latency_error: float
    piece: float
    piece_error: float
    write: list[RateFit]
    read: list[RateFit]
    reduce: list[RateFit]

    @property
    def figures(self) -> SharedMemory:
        """The figures in the form of a machine file."""
        write, read, reduce = ([one.rate for one in rows] for rows in (self.write, self.read, self.reduce))
        return SharedMemory(self.latency, self.piece, write, read, reduce)


def fit_shared(measured: Measured, typical_of: Callable[[Points], Typical]) -> SharedFit | None:
    """Fit the figures; None if nothing was measured."""
    cases = {flow: measured.of("shared", flow=flow) for flow in _FLOWS}
    sizes = [one.bytes for one in cases["exchange"]]
    if len(sizes) < 4 or any([one.bytes for one in rows] != sizes for rows in cases.values()):
        return None
    times = {flow: [typical_of(one) for one in rows] for flow, rows in cases.items()}
    values = [np.asarray([one.value for one in times[flow]]) for flow in _FLOWS]
    drawn = [np.asarray([one.replicates for one in times[flow]]) for flow in _FLOWS]
    found = _solve(sizes, values)
    others = [_solve(sizes, [rows[:, index] for rows in drawn]) for index in range(drawn[0].shape[1])]
    rates = []
    for which in range(3):
        seconds = [
            Typical(float(value), 0.0, np.asarray([other[2][which][index] for other in others]), 0, 1)
            for index, value in enumerate(found[2][which])
        ]
        rates.append(fit_reduction(sizes[1:], seconds))
    latency_error, piece_error = (float(spread(np.asarray([other[i] for other in others]))) for i in (0, 1))
    return SharedFit(found[0], latency_error, found[1], piece_error, *rates)


def _solve(sizes: list[int], times: list[Array]) -> tuple[float, float, tuple[Array, Array, Array]]:
    """The latency, and the seconds of a piece and of writing, reading and reducing all but the tiny one."""
    exchange, ring, one_way = times
    piece = _piece_seconds(sizes, exchange)
    latency = max(float(ring[0]) / 2 - 2 * piece, 0.0)
    whole, half = (np.asarray([_pieces(size // part) for size in sizes[1:]]) for part in (1, 2))
    least = 1e-3 * exchange[1:]
    exchanged = np.maximum(exchange[1:] - 2 * whole * piece - latency * (whole == 1), least)
    rounds = ring[1:] - 4 * half * piece - 2 * latency * (half == 1)
    # Two rings write every byte twice, and reduce and read it once. An exchange writes and reduces it, which
    # leaves one writing and one reading.
    both = np.maximum(2 * rounds - exchanged, _LEAST_SHARE * exchanged)
    # The slower end takes its time for all k pieces, the other end for one only. (For short vectors, the
    # overhead of calls hides which end is slower.)
    rest = one_way[1:] - latency - (whole + 1) * piece - both / whole
    is_long = np.asarray(sizes[1:]) >= _LONGEST_OF_PIECES
    slower = np.where(is_long, rest / np.maximum(whole - 1, 1) * whole, both / 2)
    read = np.clip(slower, both / 2, (1 - _LEAST_SHARE) * both)
    write = both - read
    reduce = np.maximum(exchanged - write, _LEAST_SHARE * exchanged)
    return latency, piece, (write, read, reduce)


def _piece_seconds(sizes: list[int], moved: Array) -> float:
    """The seconds of a piece at each end, fitted to short vectors of two to four pieces."""
    from scipy.optimize import nnls  # noqa: PLC0415  slow to load, and only this needs it

    chosen = [i for i, size in enumerate(sizes) if size <= _LONGEST_OF_PIECES and _pieces(size) > 1]
    rows: Array = np.asarray([[2.0 * _pieces(sizes[i]), sizes[i] * 1e-3] for i in chosen])
    seconds = moved[chosen]
    solution, _ = nnls(rows / seconds[:, None], np.ones(len(chosen)))
    return float(solution[0])


def _pieces(size: int) -> int:
    return _core.shared_memory_pieces(size)
