# SPDX-License-Identifier: Apache-2.0
"""Explains one call: which spec it uses and why, and how long each candidate takes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stretto import _core
from stretto.model.fabric_file import FabricFile
from stretto.model.walker import Call, Model, candidates, link_seconds
from stretto.predict.choices import Claim, Source, Tuned, find_claims, look_up
from stretto.predict.measured import Measured
from stretto.spec.native import NATIVE, library_name
from stretto.spec.topologies import parse_topology
from stretto.support.json_files import file_text
from stretto.support.units import three_digits

FORMAT = "stretto-explanation"


@dataclass(frozen=True, slots=True)
class InForce:
    """The spec that a call uses, and where that comes from."""

    spec: str
    reason: str
    source: Source


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
    fabric: FabricFile | None = None
    claims: list[Claim] = field(default_factory=list)
    """Whose choice it could be, in the order in which they count; empty without a fabric."""

    @property
    def bound(self) -> float | None:
        """Seconds that the busiest node's link needs at least; None on one node."""
        return link_seconds(self.call, self.model.machine)

    @property
    def modelled(self) -> list[str]:
        """The specs that a job compares with the MPI default, once it has measured such a network."""
        if self.call.bytes == 0:
            return []
        topology = parse_topology(self.call.topology)
        begin = 1 << (self.call.bytes.bit_length() - 1)
        fastest = _core.find_fastest(self.call.collective, begin, topology, self.model.machine)
        return [spec for spec, _ in fastest]

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
    call: Call,
    model: Model,
    measured: Measured,
    table: Path | None,
    family: str,
    fabric: FabricFile | None = None,
) -> Explanation:
    """Explain a call, by what jobs have found out about a fabric if one is given.

    `family`: whose table is at the default place, if no file is given.
    """
    tuned = look_up(call, table, family)
    claims = find_claims(call, fabric, tuned, os.environ) if fabric else []
    in_force = _find_in_force(call, tuned, claims)
    specs = [in_force.spec, *(one.spec for one in claims if one.spec is not None)]
    return Explanation(call, model, in_force, _rank(call, model, specs, measured), fabric, claims)


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
        **_fabric_json(explanation),
    }
    return file_text(FORMAT, command, call.topology, content)


def _fabric_json(explanation: Explanation) -> dict[str, Any]:
    if explanation.fabric is None:
        return {}
    known = explanation.fabric.fabric
    measured = known.measured
    fabric = {
        "path": str(explanation.fabric.path),
        "mpi": known.mpi,
        "hosts": known.hosts,
        "measured": measured
        and {"nodes": measured.nodes, "ppn": measured.ppn, "when": measured.when or None},
    }
    return {"fabric": fabric, "choices": [asdict(one) for one in explanation.claims]}


def _find_in_force(call: Call, tuned: Tuned, claims: Sequence[Claim]) -> InForce:
    for claim in claims:
        if claim.decides and claim.spec is not None:
            return InForce(claim.spec, claim.reason, claim.source)
    if tuned.spec is not None:
        return InForce(tuned.spec, tuned.reason, "table")
    spec = _core.choose(call.collective, call.bytes, parse_topology(call.topology))
    return InForce(spec, f"the built-in rule; {tuned.reason}", "rule")


def _rank(call: Call, model: Model, in_question: Sequence[str], measured: Measured) -> list[Candidate]:
    times = measured.times(call)
    specs = dict.fromkeys([*candidates(call.collective, call.topology), *in_question, *times])
    ranked = []
    for spec in specs:
        # The library's own algorithms, native(NAME), have no schedule to predict.
        prediction = model.predict(call, NATIVE if library_name(spec) is not None else spec)
        ranked.append(Candidate(spec, prediction.seconds, prediction.parts, times.get(spec)))
    return sorted(ranked, key=lambda one: one.measured or one.predicted)
