# SPDX-License-Identifier: Apache-2.0
"""Predicts the times of calls by many specs, and compares the built-in rule with the best of them."""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from stretto._core import Machine, Prediction, choose, closed_forms
from stretto.model.walker import Call
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError
from stretto.support.json_files import document_text

PredictCall = Callable[[Call, str], Prediction]

_FORMULA_BLOCKS = 64


@dataclass(frozen=True, slots=True)
class OnDevice:
    """Seconds of a call whose buffers are in device memory."""

    segments: float
    """Staged segment by segment, as the engine does."""
    whole: float
    """All data are copied to the host before the collective, and back after it."""
    copy: float
    """The copies alone, in the direction that takes longer."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """A spec, or a formula of the papers, at one size."""

    spec: str
    bytes: int
    seconds: float
    parts: dict[str, float]
    """Seconds on the critical path: latency, wire, reduction, overhead, waiting, copy.

    Empty for a formula.
    """
    extrapolated: bool = False
    device: OnDevice | None = None


def predict_specs(
    calls: Sequence[Call],
    specs: Sequence[str],
    predict_call: PredictCall,
    progress: Callable[[float, float], None],
) -> list[Predicted]:
    """The predictions of all calls by all specs."""
    predictions = []
    for done, spec in enumerate(specs, 1):
        for call in calls:
            found = predict_call(call, spec)
            predictions.append(Predicted(spec, call.bytes, found.seconds, found.parts, found.extrapolated))
        progress(done, len(specs))
    return predictions


def predict_on_device(
    predictions: Iterable[Predicted],
    calls: Sequence[Call],
    stage: Callable[[Call, str, str], Prediction],
    copy_seconds: Callable[[Call, str], float],
) -> list[Predicted]:
    """The predictions with the times of buffers in device memory; `stage(call, spec, staging)` predicts them.

    `native` has none: the MPI library gets the addresses, and the model does not know how it uses them.
    """
    by_bytes = {call.bytes: call for call in calls}

    def on_device(one: Predicted) -> OnDevice | None:
        if one.spec == NATIVE:
            return None
        call = by_bytes[one.bytes]
        segments, whole = (stage(call, one.spec, how).seconds for how in ("segments", "whole"))
        return OnDevice(segments, whole, copy_seconds(call, one.spec))

    return [replace(one, device=on_device(one)) for one in predictions]


def find_winners(predictions: Sequence[Predicted]) -> list[Predicted]:
    """The predictions of `native`, and the best at each size.

    If several specs are within 1 % of the best, the one that is so at most sizes wins.
    """
    best = {one.bytes: one.seconds for one in sorted(predictions, key=lambda one: -one.seconds)}
    good = [one for one in predictions if one.seconds <= 1.01 * best[one.bytes]]
    kept = [one for one in predictions if one.spec == NATIVE]
    while good:
        spec = Counter(one.spec for one in good).most_common(1)[0][0]
        chosen = [one for one in good if one.spec == spec]
        kept += [one for one in chosen if spec != NATIVE]
        sizes = {one.bytes for one in chosen}
        good = [one for one in good if one.bytes not in sizes]
    return kept


def predict_by_formulas(calls: Sequence[Call], machine: Machine) -> list[Predicted]:
    """The times of the papers' closed forms, which are for allreduce on nodes with equal numbers of ranks."""
    if calls[0].collective != "allreduce":
        raise StrettoError("--formulas: the papers have them for allreduce only")
    result = []
    for form in closed_forms():
        for call in calls:
            where = parse_topology(call.topology)
            if where.min_ppn != where.max_ppn:
                raise StrettoError("--formulas: all nodes must have the same number of ranks")
            seconds = form.seconds(call.bytes, where.nodes, where.max_ppn, _FORMULA_BLOCKS, machine)
            result.append(Predicted(f"{form.label} (formula)", call.bytes, seconds, {}))
    return result


@dataclass(frozen=True, slots=True)
class RuleRegret:
    """How much slower the built-in rule's choices are than the best predicted specs."""

    mean: float
    worst: float
    call: Call
    """The call of the worst choice."""
    chosen: str


def rule_regret(
    calls: Iterable[Call], predictions: Sequence[Predicted], predict_call: PredictCall
) -> RuleRegret:
    """Compare the built-in rule with the best of the predictions."""
    regrets = []
    for call in calls:
        chosen = choose(call.collective, call.bytes, parse_topology(call.topology))
        times = {one.spec: one.seconds for one in predictions if one.bytes == call.bytes}
        if chosen not in times:
            times[chosen] = predict_call(call, chosen).seconds
        regrets.append((times[chosen] / min(times.values()) - 1, call.bytes, chosen, call))
    worst, _, chosen, call = max(regrets, key=lambda one: one[:3])
    return RuleRegret(statistics.mean(regret for regret, *_ in regrets), worst, call, chosen)


def predictions_json(
    collective: str,
    topology: str,
    machine: str,
    predictions: Iterable[Predicted],
    bounds: Mapping[int, float | None],
) -> str:
    """The document of the predictions; `bounds`: the least seconds that the links need, by size."""
    rows = [
        {
            "spec": one.spec,
            "bytes": one.bytes,
            "seconds": one.seconds,
            "bound_seconds": bounds[one.bytes],
            "parts": one.parts,
            "extrapolated": one.extrapolated,
            **({"device": _device_json(one.device)} if one.device else {}),
        }
        for one in predictions
    ]
    content = {"collective": collective, "topology": topology, "machine": machine, "predictions": rows}
    return document_text("stretto-predicted-times", sys.argv, topology, content)


def _device_json(device: OnDevice) -> dict[str, float]:
    return {
        "segments_seconds": device.segments,
        "whole_seconds": device.whole,
        "copy_seconds": device.copy,
    }
