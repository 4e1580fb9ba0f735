# SPDX-License-Identifier: Apache-2.0
"""Explains one call: which spec it uses and why, and how long each candidate takes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stretto import _core
from stretto.explain.choices import Claim, Source, find_claims, read_job_table
from stretto.explain.measured import Measured
from stretto.model.fabric_file import LATEST, FabricFile, fabric_paths
from stretto.model.walker import Call, Model, candidates, link_seconds, machine_names
from stretto.spec.native import NATIVE, SOCKETS, library_name
from stretto.spec.topologies import parse_topology, topology_text
from stretto.support.errors import StrettoError
from stretto.support.json_files import document_text
from stretto.support.units import format_bytes, three_digits

FORMAT = "stretto-explanation"
_VISIBLE = 1.005
"""Smaller factors are shown as 1.00."""
_USUAL_MACHINE = "machine.json"


@dataclass(frozen=True, slots=True)
class InForce:
    """The spec that a call uses, and the source that chose it."""

    spec: str
    reason: str
    source: Source
    row: str | None = None
    """The row of the built-in rule, if that decides."""


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
    shares_memory: bool = True
    """Whether messages inside a node go through shared memory, unless that fails there."""
    claims: list[Claim] = field(default_factory=list)
    """The claims on the call, in the order in which they count."""
    has_library: bool = True
    """Whether the job has an MPI library."""

    @property
    def bound(self) -> float | None:
        """Seconds that the nodes' links need at least; None on one node."""
        return link_seconds(self.call, self.model.machine)

    @property
    def inside(self) -> list[str]:
        """Lines on how messages inside a node go and, if there is only one node, on the specs of the rule."""
        topology = parse_topology(self.call.topology)
        if topology.max_ppn < 2:
            return []
        if not self.shares_memory:
            carrier = "the MPI library carries" if self.has_library else "sockets carry"
            return [f"inside a node, {carrier} the messages (STRETTO_SHM=0)"]
        line = "inside a node, messages go through shared memory"
        if topology.l3s > topology.nodes:
            line += f", between {topology.l3s} groups of ranks that share a last-level cache"
        if not self.model.machine.shares_memory:
            line += "; this machine's file does not say how fast, so the MPI library's figures stand for them"
        return [line, *_rule_inside(self.call.collective, topology, self.has_library)]

    @property
    def between(self) -> list[str]:
        """A line on what carries messages between nodes, if a setting decides it."""
        setting = os.environ.get("STRETTO_CONNECTIONS", "")
        if setting in {"", "0"} or not self.has_library or parse_topology(self.call.topology).nodes == 1:
            return []
        if setting == "auto":
            which = "long messages where a job has measured that they are faster"
        elif setting == "1":
            which = "long messages"
        else:
            which = f"messages of {setting} and more"
        return [f"between nodes, connections of Stretto's own carry {which} (STRETTO_CONNECTIONS={setting})"]

    @property
    def modelled(self) -> list[str]:
        """The specs that a job tries once it has measured such a network; without MPI, it uses the first."""
        call, topology = self.call, parse_topology(self.call.topology)
        found = _core.find_modelled(
            call.collective, call.bytes, topology, self.model.machine, self.has_library
        )
        return [spec for spec, *_ in found]

    @property
    def verdict(self) -> str:
        """How the spec in force compares with the best candidate."""
        spec = self.in_force.spec
        known = [one for one in self.candidates if one.measured] or self.candidates
        how = "measured" if known[0].measured else "predicted"
        mine = next((one for one in known if one.spec == spec), None)
        if mine is None:
            return f"{spec} was not measured; the best {how} is {known[0].spec}"
        factor = (mine.measured or mine.predicted) / (known[0].measured or known[0].predicted)
        if factor < _VISIBLE:
            return f"no candidate is {how} to be faster"
        return f"{known[0].spec} is {how} to be {three_digits(factor)} times as fast as the spec in force"


def usual_source(
    machine: str | None, fabric: str | None, environment: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """The machine and the fabric to use. If none is named: machine.json, else the fabric written last."""
    if machine is not None or fabric is not None:
        return machine, fabric
    if Path(_USUAL_MACHINE).is_file():
        return _USUAL_MACHINE, None
    if fabric_paths(environment):
        return None, LATEST
    raise StrettoError(
        f"no machine is given, there is no {_USUAL_MACHINE} here, and no job has measured a network "
        f"yet; give --machine, with a file of stretto calibrate or one of {', '.join(machine_names())}"
    )


def explained_topology(
    topology: str | None, nodes: int | None, ppn: int | None, known: FabricFile | None, machine: str | None
) -> str:
    """The topology that the options name; if they name none, the one on which the network was measured."""
    measured = known.fabric.measured if known and machine is None else None
    if measured is not None and (topology, nodes, ppn) == (None, None, None):
        nodes, ppn = measured.nodes, measured.ppn
    return topology_text(topology, None, nodes, ppn, 8)


def explain_call(
    call: Call,
    model: Model,
    measured: Measured,
    table: Path | None,
    family: str,
    fabric: FabricFile | None = None,
) -> Explanation:
    """Explain a call, by what jobs have found out about a fabric if one is given.

    `family` is the MPI family whose table is used if no file is given.
    """
    shares_memory = _shares_memory()
    if not shares_memory:
        model = Model(model.machine.without_shared_memory())
    has_library = family != SOCKETS
    claims = find_claims(call, read_job_table(table, family), os.environ, fabric, has_library=has_library)
    in_force = find_in_force(claims)
    specs = [in_force.spec, *(one.spec for one in claims if one.spec is not None)]
    ranked = _rank(call, model, specs, measured)
    if not has_library:
        ranked = [one for one in ranked if one.spec != NATIVE and library_name(one.spec) is None]
    return Explanation(call, model, in_force, ranked, fabric, shares_memory, claims, has_library)


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
        "inside_a_node": explanation.inside,
        "between_nodes": explanation.between,
        "candidates": [asdict(one) for one in explanation.candidates],
        "verdict": explanation.verdict,
        "choices": [asdict(one) for one in explanation.claims],
        **_fabric_json(explanation),
    }
    return document_text(FORMAT, command, call.topology, content)


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
        and {
            "nodes": measured.nodes,
            "ppn": measured.ppn,
            "when": measured.when or None,
            "busy": measured.busy if measured.is_busy else None,
        },
    }
    return {"fabric": fabric}


def _rule_inside(collective: str, topology: _core.Topology, has_library: bool) -> list[str]:
    """A line with the built-in rule's specs for one node, by message size."""
    if topology.nodes > 1:
        return []
    steps: list[tuple[int, str]] = []
    for power in range(31):
        spec = _core.choose(collective, 1 << power, topology, has_library=has_library)
        if not steps or steps[-1][1] != spec:
            steps.append((1 << power, spec))
    texts = [spec if size == 1 else f"from {format_bytes(size)} on {spec}" for size, spec in steps]
    return [f"the rule inside a node: {', '.join(texts)}"]


def find_in_force(claims: Sequence[Claim]) -> InForce:
    """The spec that a job uses for a call, by the claim that decides."""
    claim = next(one for one in claims if one.decides)
    assert claim.spec is not None
    return InForce(claim.spec, claim.reason, claim.source, claim.row)


def _shares_memory() -> bool:
    return os.environ.get("STRETTO_SHM") != "0"


def _rank(call: Call, model: Model, in_question: Sequence[str], measured: Measured) -> list[Candidate]:
    times = measured.times(call)
    specs = dict.fromkeys([*candidates(call.collective, call.topology), *in_question, *times])
    ranked = []
    for spec in specs:
        # The MPI library's own algorithms, native(NAME), have no schedule to predict.
        prediction = model.predict(call, NATIVE if library_name(spec) is not None else spec)
        ranked.append(Candidate(spec, prediction.seconds, prediction.parts, times.get(spec)))
    return sorted(ranked, key=lambda one: one.measured or one.predicted)
