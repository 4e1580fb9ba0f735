# SPDX-License-Identifier: Apache-2.0
"""What a message and a round of Stretto's engine take of a core.

Layering a collective on an MPI library's messages costs what Figs. 16 and 17 of the node-aware paper show.
Here calls of a few bytes with more and more segments are counted out: such a call takes

    latency * (rounds with messages) + message * (ends of messages) + round * (rounds) + call

where a segment adds messages and rounds to the same latency, as segments are under way at once. So what the
library itself needs of a core for a further message is in `message`: a ping-pong's latency has that of one.
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
    """A call that was measured, and what it is made of on the busiest rank."""

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
    """What the engine takes of a core."""

    message: Figure
    """For each message at each of its ends."""
    round: Figure
    call: Figure
    """For a call as such; the models leave it out."""
    library_message: Figure | None
    """What the library alone takes for a further message at one of its ends: part of `message`."""
    residual: float
    """Root of the mean square of the relative deviations."""
    calls: list[EngineCall]


def count_work(spec: str, ranks: int) -> tuple[int, int, int, int]:
    """Segments, rounds with messages of one segment, ends of messages and rounds of all segments.

    Of the rank that has most of each in an allreduce on one node.
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
    """By least squares of the relative deviations, no coefficient below 0; None: nothing was measured."""
    from scipy.optimize import nnls  # noqa: PLC0415  slow to load, and only this needs it

    cases = measured.of("engine")
    trips = measured.of("round-trip")
    if not cases or not trips:
        return None
    trip = typical_of(trips[0])
    work = [count_work(one.about["spec"], int(one.about["ranks"])) for one in cases]
    times = [typical_of(one) for one in cases]
    y: Array = np.asarray([time.value for time in times])
    weights = 1 / np.hypot([time.error for time in times], _FLOOR * y)
    rows: Array = np.asarray([[ends, rounds, 1.0] for _, _, ends, rounds in work])
    latencies: Array = np.asarray([float(count) for _, count, _, _ in work])

    def solve(seconds: Array, latency: float, trust: Array) -> Array:
        # In microseconds, so that the solver's tolerances mean something.
        rest = (seconds - latencies * latency) * 1e6
        scaled = weights * trust * 1e-6
        solution, _ = nnls(rows * scaled[:, None], rest * scaled)
        return np.asarray(solution) * 1e-6

    trust: Array = np.ones_like(y)
    for _ in range(_ITERATIONS):
        found = solve(y, trip.value, trust)
        residuals = (latencies * trip.value + rows @ found - y) * weights
        trust = (1 + residuals**2) ** -0.25  # what far outliers count is bounded (soft_l1)
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
    # What does not fit beyond what the samples scatter is no noise of theirs.
    strain = math.sqrt(max(1.0, float(np.mean((deviations * y * weights) ** 2))))
    # A figure that is 0 whatever the samples has no spread: then by the Jacobian.
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


def _fit_library(measured: Measured, typical_of: Callable[[Points], Typical]) -> Figure | None:
    """Two ranks that exchange ever more messages of the library, all posted at once: half of the slope."""
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
