# SPDX-License-Identifier: Apache-2.0
"""`stretto explain`: the ways to carry out one call, what they would take and why, and which one is taken."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from stretto import _core
from stretto.cli.options import ModelNodes, ModelPpn, Topology
from stretto.model.walker import Call, Model, candidates, link_seconds, load_machine
from stretto.predict.measured import Measured, read_measured
from stretto.spec.recipes import check_collective
from stretto.spec.topologies import parse_topology, topology_text
from stretto.support.console import console_for
from stretto.support.errors import StrettoError
from stretto.support.json_files import file_text
from stretto.support.units import format_bytes, format_seconds, parse_bytes, three_digits

FORMAT = "stretto-explanation"
_PARTS = ("latency", "wire", "reduction", "overhead", "waiting")


@dataclass(frozen=True, slots=True)
class InForce:
    """Which spec a call takes, and who says so."""

    spec: str
    reason: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to carry out the call."""

    spec: str
    predicted: float
    parts: dict[str, float]
    measured: float | None


def explain(
    collective: Annotated[
        str, typer.Argument(help="allreduce, bcast, reduce, reduce_scatter or allgather")
    ] = "allreduce",
    size: Annotated[str, typer.Option("--bytes", help="Size of the message: 16MiB")] = "16MiB",
    nodes: ModelNodes = None,
    ppn: ModelPpn = None,
    topology: Topology = None,
    machine: Annotated[
        str, typer.Option(help="What stretto calibrate wrote, or a machine that is built in.")
    ] = "machine.json",
    table: Annotated[
        Path | None,
        typer.Option(
            help="A tuning table; unless given, STRETTO_TABLE or the default place.", metavar="FILE"
        ),
    ] = None,
    mpi: Annotated[
        str, typer.Option(help="openmpi, mpich or intelmpi: whose table the default place has.")
    ] = "openmpi",
    measured: Annotated[
        list[Path] | None,
        typer.Option(help="What stretto bench or study wrote as JSON, to set beside it.", metavar="FILE"),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many candidates to show.")] = 12,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in place of the table, of all candidates.")
    ] = False,
) -> None:
    """Say which way a call takes and why, what was expected, what was measured, and how far the bound is."""
    check_collective(collective)
    where = topology_text(topology, None, nodes, ppn, 8)
    call = Call(collective, parse_bytes(size), where)
    model = Model(load_machine(machine))
    in_force = _in_force(call, table, mpi)
    ranked = _rank(call, model, in_force.spec, read_measured(measured or []))
    if as_json:
        print(_json(call, model, in_force, ranked), end="")
    else:
        _print(call, model, in_force, ranked, top)


def _json(call: Call, model: Model, in_force: InForce, ranked: list[Candidate]) -> str:
    bound = link_seconds(call, model.machine)
    content = {
        "collective": call.collective,
        "bytes": call.bytes,
        "topology": call.topology,
        "machine": model.machine.name,
        "in_force": asdict(in_force),
        "bound": bound or None,
        "candidates": [asdict(one) for one in ranked],
        "verdict": _verdict(in_force.spec, ranked),
    }
    return file_text(FORMAT, sys.argv, call.topology, content)


def _in_force(call: Call, table: Path | None, family: str) -> InForce:
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
            how = "the model's" if shape.modelled else _how_measured(file.text, shape, call.collective)
            gain = f", {row.gain:.2f} times as fast as native" if row.gain else ""
            exact = (shape.nodes, shape.ppn) == (topology.nodes, topology.max_ppn)
            nearest = "" if exact else ", the nearest to this one"
            return InForce(
                row.spec,
                f"{path}: {shape.nodes} nodes with {shape.ppn} ranks{nearest}, "
                f"from {format_bytes(row.begin)} {_until(row.last)}, {how}{gain}",
            )
    spec = _core.choose(call.collective, call.bytes, topology)
    return InForce(spec, "the built-in rule" + (f"; {path} says nothing of it" if path else "; no table"))


def _until(last: int | None) -> str:
    return "on" if last is None else f"to {format_bytes(last)}"


def _how_measured(text: str, shape: _core.TableShape, call: str) -> str:
    """By the notes of the tuning: whether the machine was busy with something else."""
    notes = json.loads(text).get("notes")
    tunings = notes.get("tuning") if isinstance(notes, dict) else None
    for one in tunings if isinstance(tunings, list) else []:
        if not isinstance(one, dict) or one.get("call") != call:
            continue
        load = one.get("load")
        same = (one.get("nodes"), one.get("ppn")) == (shape.nodes, shape.ppn)
        if same and isinstance(load, dict) and load.get("busy"):
            return "measured on a busy machine: tune again on a quiet one"
    return "measured"


def _rank(call: Call, model: Model, in_force: str, measured: Measured) -> list[Candidate]:
    times = measured.times(call)
    specs = dict.fromkeys([*candidates(call.collective, call.topology), in_force, *times])
    ranked = []
    for spec in specs:
        # The library's own algorithms, native(NAME), have no schedule here.
        prediction = model.predict(call, "native" if spec.startswith("native(") else spec)
        ranked.append(Candidate(spec, prediction.seconds, prediction.parts, times.get(spec)))
    return sorted(ranked, key=lambda one: one.measured or one.predicted)


def _print(call: Call, model: Model, in_force: InForce, ranked: list[Candidate], top: int) -> None:
    topology = parse_topology(call.topology)
    bound = link_seconds(call, model.machine)
    shown = ranked[:top]
    shown += [one for one in ranked[top:] if one.spec in (in_force.spec, "native")]
    has_measured = any(one.measured for one in shown)
    title = (
        f"{call.collective} of {format_bytes(call.bytes)}, {topology.ranks} ranks on {topology.nodes} nodes"
        f" ({model.machine.name})"
    )
    table = Table(title=title, title_justify="left")
    headers = ["spec", "predicted", *(["measured"] if has_measured else []), "of bound", *_PARTS]
    for header in headers:
        table.add_column(header, justify="left" if header == "spec" else "right")
    for one in shown:
        cells = [one.spec, format_seconds(one.predicted)]
        if has_measured:
            cells.append(format_seconds(one.measured) if one.measured else "")
        cells.append(f"{100 * bound / (one.measured or one.predicted):.0f} %" if bound else "")
        cells += [_share(one.parts[part], one.predicted) for part in _PARTS]
        table.add_row(*cells, style="bold" if one.spec == in_force.spec else "")
    console = console_for(table)
    console.print(table)
    lines = [f"in force (bold): {in_force.spec}, by {in_force.reason}"]
    if bound:
        lines.append(f"bound: the busiest node's link needs {format_seconds(bound)}, whatever the algorithm")
    lines.append(_verdict(in_force.spec, ranked))
    lines.append("parts: what the predicted critical path goes into; native: the best textbook algorithm")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole > 0 and part > 0.005 * whole else ""


def _verdict(spec: str, ranked: list[Candidate]) -> str:
    """How far what is in force is from the best."""
    known = [one for one in ranked if one.measured] or ranked
    how = "measured" if known[0].measured else "predicted"
    mine = next((one for one in known if one.spec == spec), None)
    if mine is None:
        return f"{spec} was not measured; the best {how} is {known[0].spec}"
    if mine is known[0]:
        return f"none is {how} to be faster"
    factor = (mine.measured or mine.predicted) / (known[0].measured or known[0].predicted)
    return f"{known[0].spec} is {how} to be {three_digits(factor)} times as fast as what is in force"
