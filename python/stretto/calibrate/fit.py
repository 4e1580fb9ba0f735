# SPDX-License-Identifier: Apache-2.0
"""Fits a machine's figures to the points of a calibration, with a standard error for each figure."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stretto.calibrate.directions import DirectionsFit, fit_directions, with_directions
from stretto.calibrate.engine import EngineFit, fit_engine
from stretto.calibrate.limits import Bucket, LimitFit, fit_bucket, fit_limits
from stretto.calibrate.points import Measured, Points
from stretto.calibrate.protocols import ProtocolFit, fit_protocols
from stretto.calibrate.reduction import RateFit, fit_reduction
from stretto.calibrate.shared import SharedFit, fit_shared
from stretto.model.machine_file import LEVELS, Limit, MachineFile
from stretto.support.robust import Typical, typical


@dataclass(slots=True)
class Fit:
    """The fitted figures of a machine."""

    levels: dict[str, list[ProtocolFit]] = field(default_factory=dict)
    bucket: Bucket | None = None
    """The burst that an idle link of the network passes at full speed, if there is one."""
    limits: dict[str, LimitFit] = field(default_factory=dict)
    directions: dict[str, dict[str, DirectionsFit]] = field(default_factory=dict)
    """Duplex and exchange, by level."""
    reduction: list[RateFit] = field(default_factory=list)
    engine: EngineFit | None = None
    shared: SharedFit | None = None
    """Messages through the shared memory of a node."""
    typicals: dict[Hashable, Typical] = field(default_factory=dict)
    """Typical value of each case, by its key."""

    def of(self, points: Points) -> Typical:
        """The typical value of a case's samples."""
        return self.typicals[points.key]


def fit(measured: Measured, seed: int = 1) -> Fit:
    """Fit everything that was measured; `seed` is that of the bootstrap."""
    random = np.random.default_rng(seed)
    result = Fit()
    for points in measured.points:
        if points.seconds and points.what not in ("train", "exchange", "shift"):
            result.typicals[points.key] = typical(points.passes, random)

    trains = measured.of("train")
    latency = _least_latency(measured, result)
    if trains:
        result.bucket = fit_bucket(trains[-1], 2 * latency)
    for level in LEVELS:
        messages = measured.of("ping-pong", level=level)
        if messages:
            pieces = fit_protocols(
                [one.bytes for one in messages],
                [result.of(one) for one in messages],
                _eager_limit(measured, level),
                result.bucket if level == "network" else None,
            )
            result.directions[level] = fit_directions(measured, level, pieces, random)
            result.levels[level] = with_directions(pieces, result.directions[level])
    result.limits = fit_limits(measured, result.of, result.bucket)
    reductions = measured.of("reduction")
    if reductions:
        result.reduction = fit_reduction(
            [one.bytes for one in reductions], [result.of(one) for one in reductions]
        )
    result.engine = fit_engine(measured, result.of)
    result.shared = fit_shared(measured, result.of)
    return result


def _least_latency(measured: Measured, result: Fit) -> float:
    points = measured.of("ping-pong", level="network")
    return result.of(points[0]).value if points else 0.0


def _eager_limit(measured: Measured, level: str) -> int | None:
    """The size from which messages use rendezvous; None if no message of the search did.

    A search that finds a message to be eager is right; one that finds rendezvous may have been delayed. So
    the search with the largest eager message counts.
    """
    searches = [one for one in measured.points if one.what == "eager" and one.about["level"] == level]
    best = max(searches, key=lambda one: one.bytes, default=None)
    if best is None:
        return None
    synchronous = best.about["synchronous"]
    return None if synchronous is None else int(synchronous)


def to_machine(found: Fit, name: str, description: str, notes: dict[str, Any]) -> MachineFile:
    """The machine file of a fit, with the errors of its figures in the notes."""
    limits = {name: one.limit for name, one in found.limits.items() if one.limit != Limit()}
    errors = {path: float(f"{error:.2g}") for path, error in uncertainties(found)}
    return MachineFile(
        name=name,
        description=description,
        levels={level: [one.protocol for one in rows] for level, rows in found.levels.items()},
        limits=limits,
        reduction=[one.rate for one in found.reduction],
        engine_message=found.engine.message.value if found.engine else 0.0,
        engine_round=found.engine.round.value if found.engine else 0.0,
        shared=found.shared.figures if found.shared else None,
        notes={**notes, "uncertainty": errors},
    )


def uncertainties(found: Fit) -> Iterator[tuple[str, float]]:
    """The standard error of each figure, by the path of the figure in a machine file."""
    for level, rows in found.levels.items():
        for index, row in enumerate(rows):
            yield f"levels/{level}/{index}/latency", row.latency_error
            yield f"levels/{level}/{index}/bandwidth", row.bandwidth_error
            for figure, error in row.direction_errors.items():
                yield f"levels/{level}/{index}/{figure}", error
    for name, one in found.limits.items():
        for figure, error in one.errors.items():
            yield f"limits/{name}/{figure}", error
    for index, rate in enumerate(found.reduction):
        yield f"reduction/{index}/bandwidth", rate.error
    if found.shared:
        yield "shared/latency", found.shared.latency_error
        yield "shared/piece", found.shared.piece_error
        for name in ("write", "read", "reduce"):
            for index, rate in enumerate(getattr(found.shared, name)):
                yield f"shared/{name}/{index}/bandwidth", rate.error
    if found.engine:
        yield "engine/message", found.engine.message.error
        yield "engine/round", found.engine.round.error
