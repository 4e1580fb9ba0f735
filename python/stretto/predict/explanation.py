# SPDX-License-Identifier: Apache-2.0
"""Explains one call: which spec it uses and why, and how long each candidate takes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from stretto import _core
from stretto.model.walker import Call, Model, candidates, link_seconds
from stretto.predict.measured import Measured
from stretto.spec.native import NATIVE, library_name
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError
from stretto.support.json_files import file_text
from stretto.support.units import format_bytes, three_digits

FORMAT = "stretto-explanation"


@dataclass(frozen=True, slots=True)
class InForce:
    """The spec that a call uses, and where that comes from."""

    spec: str
    reason: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to carry out the call, with seconds."""

    spec: str
    predicted: float
    parts: dict[str, float]
    measured: float | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A call, the spec that it uses, and all candidates, the fastest first."""

    call: Call
    model: Model
    in_force: InForce
    candidates: list[Candidate]

    @property
    def bound(self) -> float | None:
        """Seconds that the busiest node's link needs at least; None on one node."""
        return link_seconds(self.call, self.model.machine)

    @property
    def verdict(self) -> str:
        """How the spec in force compares with the best candidate."""
        spec = self.in_force.spec
        known = [one for one in self.candidates if one.measured] or self.candidates
        how = "measured" if known[0].measured else "predicted"
        mine = next((one for one in known if one.spec == spec), None)
        if mine is None:
            return f"{spec} was not measured; the best {how} is {known[0].spec}"
        if mine is known[0]:
            return f"no candidate is {how} to be faster"
        factor = (mine.measured or mine.predicted) / (known[0].measured or known[0].predicted)
        return f"{known[0].spec} is {how} to be {three_digits(factor)} times as fast as the spec in force"


def explain_call(
    call: Call, model: Model, measured: Measured, table: Path | None, family: str
) -> Explanation:
    """Explain a call. `family`: whose table is at the default place, if no file is given."""
    in_force = _find_in_force(call, table, family)
    return Explanation(call, model, in_force, _rank(call, model, in_force.spec, measured))


def explanation_json(explanation: Explanation, command: Sequence[str]) -> str:
    """The output of --json."""
    call = explanation.call
    content = {
        "collective": call.collective,
        "bytes": call.bytes,
        "topology": call.topology,
        "machine": explanation.model.machine.name,
        "in_force": asdict(explanation.in_force),
        "bound": explanation.bound or None,
        "candidates": [asdict(one) for one in explanation.candidates],
        "verdict": explanation.verdict,
    }
    return file_text(FORMAT, command, call.topology, content)


def _find_in_force(call: Call, table: Path | None, family: str) -> InForce:
    topology = parse_topology(call.topology)
    file = _core.read_table_file(str(table) if table else os.environ.get("STRETTO_TABLE", ""), family)
    path = file.path
    if file.error:
        raise StrettoError(f"{path}: {file.error}")
    if path:
        try:
            shape = _core.read_table(file.text).find_shape(topology.nodes, topology.max_ppn, topology.min_ppn)
        except ValueError as error:
            raise StrettoError(f"{path}: {error}") from None
        row = shape.find(call.collective, call.bytes) if shape else None
        if shape and row:
            how = "predicted" if shape.modelled else _how_measured(file.text, shape, call.collective)
            gain = f", {row.gain:.2f} times as fast as native" if row.gain else ""
            exact = (shape.nodes, shape.ppn) == (topology.nodes, topology.max_ppn)
            nearest = "" if exact else ", the nearest to this one"
            return InForce(
                row.spec,
                f"{path}: {shape.nodes} nodes with {shape.ppn} ranks{nearest}, "
                f"from {format_bytes(row.begin)} {_until(row.last)}, {how}{gain}",
            )
    spec = _core.choose(call.collective, call.bytes, topology)
    return InForce(
        spec, "the built-in rule" + (f"; {path} does not cover this call" if path else "; no table")
    )


def _until(last: int | None) -> str:
    return "on" if last is None else f"to {format_bytes(last)}"


def _how_measured(text: str, shape: _core.TableShape, call: str) -> str:
    """Whether the machine was busy during the tuning, by the table's notes."""
    notes = json.loads(text).get("notes")
    tunings = notes.get("tuning") if isinstance(notes, dict) else None
    for one in tunings if isinstance(tunings, list) else []:
        if not isinstance(one, dict) or one.get("call") != call:
            continue
        load = one.get("load")
        same = (one.get("nodes"), one.get("ppn")) == (shape.nodes, shape.ppn)
        if same and isinstance(load, dict) and load.get("busy"):
            return "measured on a busy machine: tune again on an idle one"
    return "measured"


def _rank(call: Call, model: Model, in_force: str, measured: Measured) -> list[Candidate]:
    times = measured.times(call)
    specs = dict.fromkeys([*candidates(call.collective, call.topology), in_force, *times])
    ranked = []
    for spec in specs:
        # The library's own algorithms, native(NAME), have no schedule to predict.
        prediction = model.predict(call, NATIVE if library_name(spec) is not None else spec)
        ranked.append(Candidate(spec, prediction.seconds, prediction.parts, times.get(spec)))
    return sorted(ranked, key=lambda one: one.measured or one.predicted)
