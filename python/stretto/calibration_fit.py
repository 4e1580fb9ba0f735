# SPDX-License-Identifier: Apache-2.0
"""From the points of a calibration to the figures of a machine, with a standard error for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stretto.calibration_engine import EngineFit, fit_engine
from stretto.calibration_limits import Bucket, LimitFit, fit_bucket, fit_limits
from stretto.calibration_points import Measured, Points
from stretto.calibration_protocols import ProtocolFit, fit_protocols
from stretto.calibration_reduction import RateFit, fit_reduction
from stretto.machine_file import LEVELS, Limit, Machine
from stretto.robust import Figure, Typical, spread, typical


@dataclass(slots=True)
class Fit:
    """The figures of a machine, as they were found."""

    levels: dict[str, list[ProtocolFit]] = field(default_factory=dict)
    bucket: Bucket | None = None
    """What the network's links have saved up when they are idle, if they do."""
    limits: dict[str, LimitFit] = field(default_factory=dict)
    duplex: Figure | None = None
    reduction: list[RateFit] = field(default_factory=list)
    engine: EngineFit | None = None
    typicals: dict[int, Typical] = field(default_factory=dict)
    """Of each case, by the id() of its points."""

    def of(self, points: Points) -> Typical:
        """What the samples of a case typically are."""
        return self.typicals[id(points)]


def fit(measured: Measured, seed: int = 1) -> Fit:
    """Fit everything that was measured. The seed is that of the bootstrap."""
    random = np.random.default_rng(seed)
    result = Fit()
    for points in measured.points:
        if points.seconds and points.what != "train":
            result.typicals[id(points)] = typical(points.passes, random)

    trains = measured.of("train")
    latency = _least_latency(measured, result)
    if trains:
        result.bucket = fit_bucket(trains[-1], 2 * latency)
    for level in LEVELS:
        messages = measured.of("ping-pong", level=level)
        if messages:
            result.levels[level] = fit_protocols(
                [one.bytes for one in messages],
                [result.of(one) for one in messages],
                _eager_limit(measured, level),
                result.bucket if level == "network" else None,
            )
    result.limits = fit_limits(measured, result.of, result.bucket)
    result.duplex = _fit_duplex(measured, random)
    reductions = measured.of("reduction")
    if reductions:
        result.reduction = fit_reduction(
            [one.bytes for one in reductions], [result.of(one) for one in reductions]
        )
    result.engine = fit_engine(measured, result.of)
    return result


def _least_latency(measured: Measured, result: Fit) -> float:
    points = measured.of("ping-pong", level="network")
    return result.of(points[0]).value if points else 0.0


def _eager_limit(measured: Measured, level: str) -> int | None:
    """From how many bytes on messages wait for their receive; None: none of those that were tried do.

    A search that says that a message goes eagerly is right; one that denies it may have been held up. So of
    several searches the one that goes farthest counts.
    """
    searches = [one for one in measured.points if one.what == "eager" and one.about["level"] == level]
    best = max(searches, key=lambda one: one.bytes, default=None)
    if best is None:
        return None
    synchronous = best.about["synchronous"]
    return None if synchronous is None else int(synchronous)


def _fit_duplex(measured: Measured, random: np.random.Generator) -> Figure | None:
    """1 where an exchange takes as long as one of its messages, 0 where it takes as long as both."""
    exchanges, one_way = measured.of("exchange"), measured.of("one-way")
    if not exchanges or not one_way:
        return None
    # Samples were taken in pairs: what disturbs both cancels out.
    ratios = [
        [both / one for both, one in zip(*pair, strict=False)]
        for pair in zip(exchanges[0].passes, one_way[0].passes, strict=False)
    ]
    ratio = typical(ratios, random)
    value = 2 - ratio.value
    return Figure(min(1.0, max(0.0, value)), float(spread(ratio.replicates)) or ratio.error)


def to_machine(found: Fit, name: str, description: str, notes: dict[str, Any]) -> Machine:
    """The machine that a fit describes, with the errors of its figures in the notes."""
    limits = {name: one.limit for name, one in found.limits.items() if one.limit != Limit()}
    errors = {path: float(f"{error:.2g}") for path, error in uncertainties(found)}
    return Machine(
        name=name,
        description=description,
        levels={level: [one.protocol for one in rows] for level, rows in found.levels.items()},
        limits=limits,
        duplex=found.duplex.value if found.duplex else 1.0,
        reduction=[one.rate for one in found.reduction],
        engine_message=found.engine.message.value if found.engine else 0.0,
        engine_round=found.engine.round.value if found.engine else 0.0,
        notes={**notes, "uncertainty": errors},
    )


def uncertainties(found: Fit) -> Iterator[tuple[str, float]]:
    """The standard error of each figure, by the path of the figure in a machine file."""
    for level, rows in found.levels.items():
        for index, row in enumerate(rows):
            yield f"levels/{level}/{index}/latency", row.latency_error
            yield f"levels/{level}/{index}/bandwidth", row.bandwidth_error
    for name, one in found.limits.items():
        for figure, error in one.errors.items():
            yield f"limits/{name}/{figure}", error
    if found.duplex:
        yield "duplex", found.duplex.error
    for index, rate in enumerate(found.reduction):
        yield f"reduction/{index}/bandwidth", rate.error
    if found.engine:
        yield "engine/message", found.engine.message.error
        yield "engine/round", found.engine.round.error
