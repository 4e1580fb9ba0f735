# SPDX-License-Identifier: Apache-2.0
"""Fits the protocols of messages between two ranks: pieces of latency and bandwidth by size.

In each piece the time of a message is latency + bytes / bandwidth. The rendezvous threshold is known from a
search of its own; the fit finds all other borders. The time may jump from one piece to the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from stretto.calibrate.limits import Bucket
from stretto.model.machine_file import Protocol
from stretto.support.piecewise import line_costs, split, weighted_lines
from stretto.support.robust import Array, Typical, spread

_FLOOR = 0.02
"""Relative errors are taken to be at least this: real times bend slightly, and models need no more."""
_LEAST_SIZES = 3
_MOST_PIECES = 5
"""Most pieces on each side of the rendezvous threshold."""
_PARAMETERS = 3
"""Parameters of a piece: latency, bandwidth, and where it begins."""
_MOST_BANDWIDTH = 1e15
_WITHIN_BUCKET = 0.9
"""Fraction of the burst that messages may fill, as frame headers count too."""


@dataclass(frozen=True, slots=True)
class ProtocolFit:
    """One piece."""

    protocol: Protocol
    latency_error: float
    bandwidth_error: float
    """The error of the fitted seconds per byte, times the bandwidth squared. If it exceeds the bandwidth, the
    messages are too short to show the bandwidth, and the real one may be arbitrarily larger."""
    residual: float
    """Median relative deviation of the times from the fit."""
    sizes: tuple[int, int]
    """The smallest and the largest message that it was fitted to."""
    direction_errors: dict[str, float] = field(default_factory=dict)
    """Errors of duplex and exchange, as far as these were measured."""


def fit_protocols(
    sizes: list[int], times: list[Typical], synchronous_from: int | None, bucket: Bucket | None = None
) -> list[ProtocolFit]:
    """Fit pieces to the times of messages of ascending sizes (bytes); the first piece begins at 0.

    `synchronous_from`: rendezvous threshold in bytes; None if there is none. With a bucket, only messages
    within the burst count.
    """
    if bucket is not None:
        kept = [i for i, size in enumerate(sizes) if size <= _WITHIN_BUCKET * bucket.burst]
        if len(kept) >= _LEAST_SIZES:
            sizes, times = [sizes[i] for i in kept], [times[i] for i in kept]
    border = len(sizes) if synchronous_from is None else int(np.searchsorted(sizes, synchronous_from))
    sides = [(0, border, False), (border, len(sizes), True)]
    pieces: list[ProtocolFit] = []
    for begin, end, synchronous in sides:
        if end - begin >= _LEAST_SIZES:
            pieces += _fit_side(sizes[begin:end], times[begin:end], synchronous)
    if not pieces:
        pieces = _fit_side(sizes, times, synchronous=synchronous_from == 1)
    pieces = _with_border(pieces, synchronous_from)
    return [replace(pieces[0], protocol=replace(pieces[0].protocol, begin=0)), *pieces[1:]]


def _with_border(pieces: list[ProtocolFit], synchronous_from: int | None) -> list[ProtocolFit]:
    """Begin a piece at the rendezvous threshold; a side with too few sizes is a copy of the other."""
    if synchronous_from is None:
        return pieces
    before = [one for one in pieces if not one.protocol.synchronous]
    after = [one for one in pieces if one.protocol.synchronous]
    if not after:
        after = [replace(before[-1], protocol=replace(before[-1].protocol, synchronous=True))]
    if not before and synchronous_from > 1:
        before = [replace(after[0], protocol=replace(after[0].protocol, synchronous=False))]
    after[0] = replace(after[0], protocol=replace(after[0].protocol, begin=synchronous_from))
    return [*before, *after]


def _fit_side(sizes: list[int], times: list[Typical], synchronous: bool) -> list[ProtocolFit]:
    x: Array = np.asarray(sizes, dtype=float)
    y: Array = np.asarray([time.value for time in times])
    errors: Array = np.asarray([time.error for time in times])
    judged = np.hypot(errors, _FLOOR * y)
    costs = line_costs(x, y, judged, lambda i, j: j - i + 1 >= min(_LEAST_SIZES, len(sizes)))
    penalty = _PARAMETERS * math.log(len(sizes))
    runs = split(costs, penalty, _MOST_PIECES)
    replicates: Array = np.asarray([time.replicates for time in times]).T
    pieces = [
        _fit_piece(x[i : j + 1], y[i : j + 1], errors[i : j + 1], replicates[:, i : j + 1], synchronous)
        for i, j in runs
    ]
    borders = [_border(one, other) for one, other in pairwise(pieces)]
    return [
        replace(piece, protocol=replace(piece.protocol, begin=begin))
        for piece, begin in zip(pieces, [sizes[0], *borders], strict=True)
    ]


def _border(one: ProtocolFit, other: ProtocolFit) -> int:
    """The size at which two pieces intersect, if it lies between the adjacent sizes; else their middle."""
    low, high = one.sizes[1] + 1, other.sizes[0]
    slope = 1 / one.protocol.bandwidth - 1 / other.protocol.bandwidth
    if slope != 0:
        meeting = (other.protocol.latency - one.protocol.latency) / slope
        if low <= meeting <= high:
            return round(meeting)
    return max(low, round(math.sqrt(low * high)))


def _fit_piece(x: Array, y: Array, errors: Array, replicates: Array, synchronous: bool) -> ProtocolFit:
    from scipy.optimize import least_squares  # noqa: PLC0415  slow to load, and only this needs it

    judged = np.hypot(errors, _FLOOR * y)
    # Units in which both parameters are about 1.
    scale_y, scale_x = float(np.median(y)), float(np.max(x))

    def residuals(parameters: Array) -> Array:
        result: Array = (scale_y * (parameters[0] + parameters[1] * x / scale_x) - y) / judged
        return result

    slowest = scale_x / scale_y / _MOST_BANDWIDTH
    a, b = weighted_lines(x, y[None, :], 1 / judged[None, :] ** 2)
    start = [max(a[0] / scale_y, 1e-12), max(b[0] * scale_x / scale_y, 2 * slowest)]
    found = least_squares(residuals, start, loss="soft_l1", bounds=([0, slowest], [np.inf, np.inf]))
    latency, slope = float(found.x[0] * scale_y), float(found.x[1] * scale_y / scale_x)
    if latency < 1e-6 * scale_y:
        latency = 0.0
    lines = latency + slope * x

    weights = 1 / judged**2 / np.sqrt(1 + residuals(found.x) ** 2)
    latencies, slopes = weighted_lines(
        x, replicates, np.broadcast_to(weights, replicates.shape), bounded=False
    )
    # If the line deviates by more than the samples scatter, the errors are widened.
    strain = np.minimum(((y - lines) / errors) ** 2, 9.0)
    widened = math.sqrt(max(1.0, float(np.sum(strain)) / max(1, len(x) - 2)))
    bandwidth = 1 / slope
    return ProtocolFit(
        Protocol(int(x[0]), latency, bandwidth, synchronous),
        float(spread(latencies)) * widened,
        float(spread(slopes)) * widened * bandwidth**2,
        float(np.median(np.abs(y / lines - 1))),
        (int(x[0]), int(x[-1])),
    )


def predict(pieces: list[ProtocolFit], sizes: Array, bucket: Bucket | None = None) -> Array:
    """Predicted seconds of single messages of these sizes (bytes)."""
    begins = [one.protocol.begin for one in pieces]
    at = np.searchsorted(begins, sizes, side="right") - 1
    latencies = np.asarray([one.protocol.latency for one in pieces])[at]
    bandwidths = np.asarray([one.protocol.bandwidth for one in pieces])[at]
    if bucket is None:
        return np.asarray(latencies + sizes / bandwidths)
    beyond = np.maximum(sizes - bucket.burst, 0)
    return np.asarray(latencies + (sizes - beyond) / bandwidths + beyond / bucket.bandwidth)
