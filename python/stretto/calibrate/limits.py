# SPDX-License-Identifier: Apache-2.0
"""Fits the limits of shared resources (links, memory, fabric), and the burst of an idle link.

The bandwidth of k senders at once is min(k b, limit): the max-rate model (Gropp, Olson, Samfass: Modeling MPI
communication performance on SMP nodes, 2016). A limit that is never reached is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from stretto.calibrate.points import Measured, Points
from stretto.model.machine_file import LIMITS, Limit
from stretto.support.robust import Array, Typical, spread

_FLOOR = 0.03
"""Relative errors are taken to be at least this, so that noise does not look like a limit."""
_TINY = 8
"""Bytes of the messages that measure message rates."""
_LEAST_GAIN = 0.85
"""There is no limit if k senders reach this fraction of k times the bandwidth of one."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A link's token bucket: `burst` bytes pass at once after a pause, then `bandwidth` bytes per second."""

    bandwidth: float
    burst: float
    bandwidth_error: float
    burst_error: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Bytes or messages per second of k senders together."""

    about: str
    """bandwidth or message_rate."""
    way: str
    """`one way`: several messages of each sender at once; `both ways`: one message at a time."""
    counts: list[int]
    rates: list[float]
    errors: list[float]
    single: float
    """Rate of one sender without a limit."""
    limit: float | None
    error: float


@dataclass(frozen=True, slots=True)
class LimitFit:
    """One fitted limit."""

    limit: Limit
    errors: dict[str, float]
    curves: list[Curve] = field(default_factory=list)


def split_trains(points: Points) -> list[Array]:
    """Seconds from the start of each train to each of its messages; a decrease begins a new train."""
    trains: list[Array] = []
    for part in points.passes:
        times: Array = np.asarray(part)
        trains += [one for one in np.split(times, np.nonzero(np.diff(times) < 0)[0] + 1) if len(one) >= 8]
    return trains


def fit_bucket(points: Points, round_trip: float) -> Bucket | None:
    """Fit the token bucket to trains of messages; None if there is no burst.

    Fits a straight line (Theil-Sen) to the second half of each train: its slope is the bandwidth, its
    intercept is the burst. By then, early delays have been made up. Messages in flight at once may share the
    link and arrive together: only the last of them counts.
    """
    from scipy.stats import theilslopes  # noqa: PLC0415  slow to load, and only this needs it

    size = points.bytes
    found = []
    for train in split_trains(points):
        pace = train[-1] / len(train)
        last = np.append(np.diff(train) >= pace / 2, True)
        last[: len(train) // 2] = False
        if np.sum(last) < 3:
            continue
        slope, burst, _, _ = theilslopes(size * (np.nonzero(last)[0] + 1), train[last] - round_trip)
        found.append((float(slope), float(burst)))
    if not found:
        return None
    bandwidths, bursts = np.asarray(found).T
    burst = float(np.median(bursts))
    # A single message may be early for other reasons.
    if burst < 2 * size:
        return None
    root = math.sqrt(len(found))
    return Bucket(
        float(np.median(bandwidths)),
        burst,
        max(1.25 * float(np.std(bandwidths)) / root, 1e-3 * float(np.median(bandwidths))),
        max(1.25 * float(np.std(bursts)) / root, 0.1 * size / root),
    )


def fit_limits(
    measured: Measured, typical_of: Callable[[Points], Typical], bucket: Bucket | None
) -> dict[str, LimitFit]:
    """Fit all limits that were measured."""
    found = {}
    for name in LIMITS:
        flows = measured.of("flows", limit=name)
        if flows:
            found[name] = _fit_limit(name, flows, typical_of, bucket if name == "node" else None)
    return found


def _fit_limit(
    name: str, flows: Sequence[Points], typical_of: Callable[[Points], Typical], bucket: Bucket | None
) -> LimitFit:
    curves = []
    for tiny in (False, True):
        for both_ways in (False, True):
            cases = [
                one
                for one in flows
                if (one.bytes <= _TINY) == tiny and bool(one.about["both_ways"]) == both_ways
            ]
            if cases:
                curves.append(_fit_curve(name, cases, typical_of, tiny=tiny, both_ways=both_ways))
    bandwidth = next((one for one in curves if one.about == "bandwidth" and one.limit is not None), None)
    # If there are several limits, the lowest applies.
    rates = [one for one in curves if one.about == "message_rate" and one.limit is not None]
    rate = min(rates, key=lambda one: one.limit or math.inf, default=None)
    errors = {}
    if bandwidth:
        errors["bandwidth"] = bandwidth.error
    if rate:
        errors["message_rate"] = rate.error
    if bucket:
        errors["burst"] = bucket.burst_error
    limit = Limit(
        bandwidth.limit if bandwidth else None,
        rate.limit if rate else None,
        round(bucket.burst) if bucket else 0,
    )
    return LimitFit(limit, errors, curves)


def _fit_curve(
    name: str, cases: list[Points], typical_of: Callable[[Points], Typical], *, tiny: bool, both_ways: bool
) -> Curve:
    """Fit min(k b, limit) to the rates of k senders."""
    by_count: dict[int, Points] = {
        int(one.about["pairs" if name == "fabric" else "flows"]): one for one in cases
    }
    counts = sorted(by_count)
    rates, replicates = [], []
    for count in counts:
        points = by_count[count]
        about = points.about
        amount = float(about["flows"] * about["messages"] * (1 if tiny else points.bytes))
        # A node sends and receives over separate links; the fabric carries both directions.
        if both_ways and name == "fabric":
            amount *= 2
        time = typical_of(points)
        rates.append(amount / time.value)
        replicates.append(amount / np.maximum(time.replicates, 1e-12))
    logs: Array = np.log(np.asarray(rates))
    spreads: Array = np.asarray(spread(np.log(np.asarray(replicates)), axis=1))
    single, plateau = _bend(np.asarray(counts, dtype=float), logs, np.hypot(spreads, _FLOOR))

    limit, error = None, 0.0
    # With one rank per node, one message at a time measures the rank, not the node's link. Several large
    # messages of the rank at once do measure the link.
    if len(counts) == 1 and name == "node" and not tiny:
        plateau = [0]
    if plateau:
        limit = float(np.exp(np.median(logs[plateau])))
        drawn = np.median(np.log(np.asarray(replicates)[plateau]), axis=0)
        scatter = float(np.std(logs[plateau])) / math.sqrt(len(plateau))
        error = limit * max(float(spread(drawn)), scatter, 1e-3)
    return Curve(
        "message_rate" if tiny else "bandwidth",
        "both ways" if both_ways else "one way",
        counts,
        rates,
        [rate * float(one) for rate, one in zip(rates, spreads, strict=True)],
        single,
        limit,
        error,
    )


def _bend(counts: Array, logs: Array, errors: Array) -> tuple[float, list[int]]:
    """The rate of one sender, and the indices of the counts that are limited; empty without a limit."""

    def loss(grown: int) -> tuple[float, float]:
        """The loss of a model in which the first rates are proportional to the counts, the others equal."""
        start = float(np.median(logs[:grown] - np.log(counts[:grown])))
        model = start + np.log(counts)
        if grown < len(counts):
            model[grown:] = float(np.median(logs[grown:]))
        squares = np.minimum(((logs - model) / errors) ** 2, 25.0)
        return float(np.sum(squares)) + (math.log(len(counts)) if grown < len(counts) else 0.0), start

    losses = [loss(grown) for grown in range(1, len(counts) + 1)]
    grown = 1 + min(range(len(counts)), key=lambda i: losses[i][0])
    start = losses[grown - 1][1]
    if grown == len(counts):
        return math.exp(start), []
    reached = float(np.median(logs[grown:])) - start - math.log(counts[-1])
    if reached > math.log(_LEAST_GAIN):
        return math.exp(losses[-1][1]), []
    # The first count belongs to the plateau too if it is as high.
    if grown == 1 and abs(logs[0] - np.median(logs[1:])) < 2 * _FLOOR:
        return math.exp(start), list(range(len(counts)))
    return math.exp(start), list(range(grown, len(counts)))
