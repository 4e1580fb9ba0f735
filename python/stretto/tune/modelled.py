# SPDX-License-Identifier: Apache-2.0
"""A table's shapes for node counts that were not measured: predictions, scaled by measured times."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stretto import _core
from stretto.model.walker import Call, Model
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology
from stretto.support.units import size_text
from stretto.tune.findings import CallKind, Choice
from stretto.tune.table import Json, Shape, within

# A predicted gain must exceed the model's usual error (docs/notebook.md).
_LEAST_GAIN = 1.1
# Predictions go up to this multiple of the measured number of nodes.
_MOST_TIMES = 4
_NODES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)


def modelled_shapes(
    model: Model, shape: Shape, kinds: Iterable[CallKind], choices: Mapping[str, Sequence[Choice]]
) -> list[Json]:
    """Returns shapes of other node counts with the same number of ranks per node, as in tables.

    There are none if a single node was measured, which has no network, or nodes with different numbers of
    ranks.
    The time of `native` is predicted, then scaled by the prediction's error at the measured shape.
    """
    if shape.min_ppn != shape.ppn or shape.nodes == 1:
        return []
    tuned = [kind for kind in kinds if choices.get(kind.name)]
    others = [nodes for nodes in _NODES if nodes <= _MOST_TIMES * shape.nodes and nodes != shape.nodes]
    return [
        replace(shape, nodes=nodes).to_json()
        | {"modelled": True}
        | {kind.name: _rows(model, shape, nodes, kind, choices[kind.name]) for kind in tuned}
        for nodes in (others if tuned else [])
    ]


def _rows(model: Model, shape: Shape, nodes: int, kind: CallKind, choices: Sequence[Choice]) -> list[Json]:
    found = [(one.size, _best(model, shape, nodes, kind, one, choices)) for one in choices]
    runs = [(spec, [size for size, _ in run]) for spec, run in itertools.groupby(found, lambda one: one[1])]
    rows = [{"from": size_text(sizes[0]), "spec": spec} for spec, sizes in runs]
    return within(rows, choices[0].size, choices[-1].size)


def _best(
    model: Model, shape: Shape, nodes: int, kind: CallKind, here: Choice, choices: Sequence[Choice]
) -> str:
    there = Call(kind.collective, here.size, f"nodes={nodes},ppn={shape.ppn}")
    measured = Call(kind.collective, here.size, f"nodes={shape.nodes},ppn={shape.ppn}")
    off_by = here.native.median / model.predict(measured, NATIVE).seconds
    library = off_by * model.predict(there, NATIVE).seconds
    times = {
        spec: model.predict(there, spec).seconds for spec in _candidates(model, shape, there, kind, choices)
    }
    best = min(times, key=times.__getitem__, default=NATIVE)
    return best if best != NATIVE and library > _LEAST_GAIN * times[best] else NATIVE


def _candidates(
    model: Model, shape: Shape, there: Call, kind: CallKind, choices: Sequence[Choice]
) -> list[str]:
    """Returns the specs chosen at any size, also with scaled segments, and the built-in rule's choice."""
    topology = parse_topology(there.topology)
    specs = [_core.choose(kind.name, there.bytes, topology)]
    for spec in dict.fromkeys(choice.spec for choice in choices):
        if spec.startswith(NATIVE):
            continue
        head, named, text = spec.partition("segment_bytes=")
        specs.append(spec)
        if named:
            _, colon, rest = text.partition(":")
            scaled = _core.parse_spec(spec, kind.collective).segment_bytes * topology.nodes // shape.nodes
            specs.append(f"{head}{named}{size_text(scaled)}{colon}{rest}")
    return [spec for spec in dict.fromkeys(specs) if not spec.startswith(NATIVE) and model.fits(there, spec)]
