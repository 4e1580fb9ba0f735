# SPDX-License-Identifier: Apache-2.0
"""Fits the CPU time that Stretto's engine needs for a message and for a round.

Figs. 16 and 17 of the node-aware paper show the cost of building a collective on an MPI library's messages.
Here, calls of a few bytes with more and more segments are measured. Such a call takes

    latency * (rounds with messages) + message * (ends of messages) + round * (rounds) + call

Segments are in flight at once, so a segment adds messages and rounds, but no latency. So `message` includes
the MPI library's CPU time for a further message; a ping-pong's latency includes that of one message.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stretto import _core
from stretto.calibrate.points import Measured, Points
from stretto.support.robust import Array, Figure, Typical, spread

_FLOOR = 0.05
_ITERATIONS = 10


@dataclass(frozen=True, slots=True)
class EngineCall:
    """A measured call, and its latencies, messages and rounds on the busiest rank."""

    spec: str
    ranks: int
    segments: int
    latencies: int
    ends: int
    rounds: int
    measured: float
    fitted: float


@dataclass(frozen=True, slots=True)
class EngineFit:
    """CPU time of the engine."""

    message: Figure
    """Seconds for a message, at each of its two ends."""
    round: Figure
    call: Figure
    """Seconds for a call; the models leave it out."""
    library_message: Figure | None
    """The MPI library's part of `message`."""
    residual: float
    """Root mean square of the relative deviations."""
    calls: list[EngineCall]


def count_work(spec: str, ranks: int) -> tuple[int, int, int, int]:
    """Segments, rounds with messages of one segment, ends of messages and rounds of all segments.

    Counts an allreduce on one node; each count is that of the rank with the most.
    """
    parsed = _core.parse_spec(spec)
    segments = max(1, parsed.segments)
    topology = _core.Topology(f"nodes=1,ppn={ranks}")
    latencies = ends = rounds = 0
    for rank in range(ranks):
        schedule = _core.build("allreduce", parsed.recipe, topology, 0, rank)
        messages = [sum(action.peer >= 0 for action in actions) for actions in schedule.rounds]
        latencies = max(latencies, sum(count > 0 for count in messages))
        ends = max(ends, sum(messages))
        rounds = max(rounds, len(messages))
    return segments, latencies, ends * segments, rounds * segments


def fit_engine(measured: Measured, typical_of: Callable[[Points], Typical]) -> EngineFit | None:
    """Fit by non-negative least squares of the relative deviations; None if nothing was measured."""
    from scipy.optimize import nnls  # noqa: PLC0415  slow to load, and only this needs it

    cases = measured.of("engine")
    trips = measured.of("round-trip")
    if not cases or not trips:
        return None
    # On one node, the calls' messages go through shared memory if it was measured.
    trip = _shared_trip(measured, typical_of) if trips[0].about["level"] != "network" else None
    trip = trip or typical_of(trips[0])
    work = [count_work(one.about["spec"], int(one.about["ranks"])) for one in cases]
    times = [typical_of(one) for one in cases]
    y: Array = np.asarray([time.value for time in times])
    weights = 1 / np.hypot([time.error for time in times], _FLOOR * y)
    rows: Array = np.asarray([[ends, rounds, 1.0] for _, _, ends, rounds in work])
    latencies: Array = np.asarray([float(count) for _, count, _, _ in work])

    def solve(seconds: Array, latency: float, trust: Array) -> Array:
        # Microseconds suit the solver's tolerances.
        rest = (seconds - latencies * latency) * 1e6
        scaled = weights * trust * 1e-6
        solution, _ = nnls(rows * scaled[:, None], rest * scaled)
        return np.asarray(solution) * 1e-6

    trust: Array = np.ones_like(y)
    for _ in range(_ITERATIONS):
        found = solve(y, trip.value, trust)
        residuals = (latencies * trip.value + rows @ found - y) * weights
        trust = (1 + residuals**2) ** -0.25  # bounds the weight of outliers (soft_l1)
    replicates = np.asarray(
        [
            solve(seconds, latency, trust)
            for seconds, latency in zip(
                np.asarray([time.replicates for time in times]).T, trip.replicates, strict=True
            )
        ]
    )
    fitted = latencies * trip.value + rows @ found
    deviations = fitted / y - 1
    # Deviations beyond the scatter of the samples widen the errors.
    strain = math.sqrt(max(1.0, float(np.mean((deviations * y * weights) ** 2))))
    # A figure that is 0 in all replicates has no spread; its error comes from the Jacobian.
    jacobian = rows * weights[:, None]
    by_jacobian = np.sqrt(np.diag(np.linalg.pinv(jacobian.T @ jacobian)))
    spreads = np.asarray(spread(replicates))
    errors = np.where(spreads > 0, spreads, by_jacobian) * strain
    message, per_round, call = (
        Figure(float(value), float(error)) for value, error in zip(found, errors, strict=True)
    )
    calls = [
        EngineCall(one.about["spec"], int(one.about["ranks"]), segments, count, ends, rounds, time, fit)
        for one, (segments, count, ends, rounds), time, fit in zip(
            cases, work, y.tolist(), fitted.tolist(), strict=True
        )
    ]
    return EngineFit(
        message,
        per_round,
        call,
        _fit_library(measured, typical_of),
        float(np.sqrt(np.mean(deviations**2))),
        calls,
    )


def _shared_trip(measured: Measured, typical_of: Callable[[Points], Typical]) -> Typical | None:
    """The time of a tiny message through shared memory, by which a ring of two ranks exceeds an exchange."""
    flows = [measured.of("shared", flow=flow) for flow in ("ring", "exchange")]
    if not all(flows):
        return None
    ring, exchange = (typical_of(rows[0]) for rows in flows)
    replicates = np.maximum(ring.replicates - exchange.replicates, 0)
    value = max(ring.value - exchange.value, 0.0)
    return Typical(value, float(spread(replicates)), replicates, 0, ring.count)


def _fit_library(measured: Measured, typical_of: Callable[[Points], Typical]) -> Figure | None:
    """Half the slope of two ranks' time over the number of messages that they exchange at once."""
    from scipy.optimize import nnls  # noqa: PLC0415  slow to load, and only this needs it

    cases = measured.of("messages")
    if len(cases) < 2:
        return None
    x: Array = np.asarray([float(one.about["messages"]) for one in cases])
    times = [typical_of(one) for one in cases]
    y: Array = np.asarray([time.value for time in times])
    weights = 1 / np.hypot([time.error for time in times], _FLOOR * y)
    rows = np.stack([2 * x, np.ones_like(x)], axis=1)
    scaled = rows * weights[:, None]

    def solve(seconds: Array) -> float:
        solution, _ = nnls(scaled, seconds * weights)
        return float(solution[0])

    drawn = np.asarray([solve(row) for row in np.asarray([time.replicates for time in times]).T])
    return Figure(solve(y), float(spread(drawn)))
