# SPDX-License-Identifier: Apache-2.0
"""Fits how far sends and receives overlap: 1 is full overlap, 0 is one after the other.

There are two figures for each level, by message size. `duplex`: a rank sends to one rank and receives from
another, measured by a shift over three ranks. `exchange`: two ranks send to each other; over TCP both
directions share a connection, and wait for each other.

Several messages follow each other, since the directions take some time to disturb each other.

The second direction adds (1 - figure) of the message's time on the wire. In short messages, latency hides
this part, so they count less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stretto.calibrate.points import Measured
from stretto.calibrate.protocols import ProtocolFit
from stretto.model.machine_file import protocol_for
from stretto.support.piecewise import constant_costs, split, weighted_median
from stretto.support.robust import Array, Figure, Typical, spread, typical

WAYS = {"duplex": "shift", "exchange": "exchange"}
"""The kind of points that each figure is fitted to."""
_FLOOR = 0.05
"""Errors are taken to be at least this, so that noise makes no steps."""
_MOST_STEPS = 6
_PARAMETERS = 2
_LEAST_WIRE = 0.02
"""Least time on the wire, as a fraction of the message's time."""
_FREE = 0.02
"""Figures closer to 1 than this, or than two standard errors, are set to 1."""


@dataclass(frozen=True, slots=True)
class Step:
    """The figure of messages of `begin` bytes and more."""

    begin: int
    figure: Figure


@dataclass(frozen=True, slots=True)
class DirectionsFit:
    """One of the two figures of a level."""

    sizes: list[int]
    values: list[Figure]
    """The measured figure of each size, not clipped to 0..1."""
    steps: list[Step]


def fit_directions(
    measured: Measured, level: str, pieces: Sequence[ProtocolFit], random: np.random.Generator
) -> dict[str, DirectionsFit]:
    """Fit those figures of a level that were measured."""
    found = {}
    protocols = [one.protocol for one in pieces]
    answer = protocols[0].latency  # a single message ends with a short answer
    alone = {(one.bytes, one.about["count"]): one for one in measured.of("one-way", level=level)}
    for name, what in WAYS.items():
        cases = [one for one in measured.of(what, level=level) if (one.bytes, one.about["count"]) in alone]
        if not cases:
            continue
        added: list[Typical] = []
        wires = []
        for both in cases:
            one = alone[both.bytes, both.about["count"]]
            # The two cases were measured in turns, so disturbances of both cancel out.
            ratios = [
                [second / max(first - answer, first / 2) - 1 for first, second in zip(*pair, strict=False)]
                for pair in zip(one.passes, both.passes, strict=False)
            ]
            added.append(typical(ratios, random))
            latency = protocol_for(protocols, both.bytes).latency
            wires.append(max(_LEAST_WIRE, 1 - latency / (typical(one.passes, random).value - answer)))
        found[name] = _fit_steps([one.bytes for one in cases], added, np.asarray(wires), pieces)
    return found


def _fit_steps(
    sizes: list[int], added: list[Typical], wires: Array, pieces: Sequence[ProtocolFit]
) -> DirectionsFit:
    values: Array = 1 - np.asarray([one.value for one in added]) / wires
    replicates: Array = 1 - np.asarray([one.replicates for one in added]) / wires[:, None]
    errors: Array = np.asarray([one.error for one in added]) / wires
    judged = np.hypot(errors, _FLOOR / wires)
    clipped = np.clip(values, 0, 1)
    runs = split(
        constant_costs(clipped, judged, lambda _i, _j: True), _PARAMETERS * math.log(len(sizes)), _MOST_STEPS
    )
    steps = []
    for first, last in runs:
        inside = slice(first, last + 1)
        weights = 1 / judged[inside] ** 2
        value = weighted_median(clipped[inside], weights)
        drawn = np.average(replicates[inside], axis=0, weights=weights)
        scatter = float(np.std(clipped[inside])) / math.sqrt(last - first + 1)
        error = max(float(spread(drawn)), scatter, 1e-3)
        if value > 1 - max(_FREE, 2 * error):
            value = 1.0
        begin = _border(sizes[first - 1], sizes[first], pieces) if first else 0
        steps.append(Step(begin, Figure(value, error)))
    return DirectionsFit(
        sizes,
        [Figure(float(value), float(error)) for value, error in zip(values, errors, strict=True)],
        steps,
    )


def _border(low: int, high: int, pieces: Sequence[ProtocolFit]) -> int:
    """The size at which a protocol begins between these sizes; their middle if none does."""
    begins = [one.protocol.begin for one in pieces if low < one.protocol.begin <= high]
    return begins[0] if begins else round(math.sqrt(low * high))


def with_directions(pieces: list[ProtocolFit], found: dict[str, DirectionsFit]) -> list[ProtocolFit]:
    """The protocols of a level, also split where one of the two figures changes."""
    begins = {one.protocol.begin for one in pieces}
    begins |= {step.begin for one in found.values() for step in one.steps}
    rows = []
    for begin in sorted(begins):
        piece = [one for one in pieces if one.protocol.begin <= begin][-1]
        row = replace(piece, protocol=replace(piece.protocol, begin=begin))
        for name, fit in found.items():
            figure = [step for step in fit.steps if step.begin <= begin][-1].figure
            protocol = (
                replace(row.protocol, duplex=figure.value)
                if name == "duplex"
                else replace(row.protocol, exchange=figure.value)
            )
            row = replace(
                row, protocol=protocol, direction_errors={**row.direction_errors, name: figure.error}
            )
        rows.append(row)
    return rows
