# SPDX-License-Identifier: Apache-2.0
"""`stretto predict`: what collectives take on a machine, by the schedule walker, without running anything."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from stretto._core import Prediction, choose, closed_forms
from stretto.cli.options import ModelNodes, ModelPpn, Topology
from stretto.model.walker import Call, Model, candidates, link_seconds, load_machine, machine_names
from stretto.plots import runs as plots
from stretto.predict.judgement import judge, judgement_json, print_judgement
from stretto.predict.measured import read_measured
from stretto.spec.recipes import check_collective
from stretto.spec.topologies import parse_topology, topology_text
from stretto.support.console import console_for, progress_bar
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_all, write_atomically
from stretto.support.units import format_bandwidth, format_bytes, format_seconds, parse_sizes, split_list


@dataclass(frozen=True, slots=True)
class Predicted:
    """A spec, or a formula of the papers, at one size."""

    spec: str
    bytes: int
    seconds: float
    parts: dict[str, float]
    """Seconds of the critical path: latency, wire, reduction, overhead, waiting. None of a formula."""
    extrapolated: bool = False


def predict(
    collective: Annotated[str, typer.Argument(help="allreduce, bcast, reduce, reduce_scatter, allgather")],
    machine: Annotated[
        str, typer.Option(help=f"A machine file, or one of {', '.join(machine_names())}.")
    ] = "altec",
    nodes: ModelNodes = None,
    ppn: ModelPpn = None,
    topology: Topology = None,
    sizes: Annotated[str, typer.Option(help="Message sizes, as in stretto bench.")] = "1KiB..1GiB:4",
    specs: Annotated[
        str, typer.Option(help="With commas between. Unless given: whichever is best at some size.")
    ] = "",
    formulas: Annotated[
        bool, typer.Option("--formulas", help="The papers' closed forms as well (allreduce).")
    ] = False,
    model: Annotated[str, typer.Option(help="postal, node_aware or max_rate.")] = "max_rate",
    overlap: Annotated[
        str, typer.Option(help="Of sends and receives: measured, full (OVLP) or none (NOVL).")
    ] = "measured",
    arithmetic: Annotated[
        bool, typer.Option("--arithmetic/--no-arithmetic", help="Whether reductions take time.")
    ] = True,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Predict what these files of stretto bench or study hold, and judge the model by it.",
        ),
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all predictions here.")] = None,
    png_file: Annotated[Path | None, typer.Option("--png", help="Draw throughput over size here.")] = None,
) -> None:
    """Predict collectives on a machine: one of the papers', or one that stretto calibrate measured."""
    check_collective(collective)
    check_files([json_file], [png_file])
    if against:
        _judge(machine, against, parse_sizes(sizes), json_file)
        return
    where = topology_text(topology, None, nodes, ppn, 8)
    ranks = parse_topology(where).ranks
    its_machine = load_machine(machine)
    walker = Model(its_machine)
    wanted = split_list(specs) if specs else candidates(collective, where)
    calls = [Call(collective, size, where) for size in parse_sizes(sizes)]
    predictions: list[Predicted] = []
    remarks = []

    def predict_call(call: Call, spec: str) -> Prediction:
        return walker.predict(call, spec, model=model, overlap=overlap, arithmetic=arithmetic)

    with progress_bar("predicting") as progress:
        for done, spec in enumerate(wanted):
            predictions += [_predicted(spec, call, predict_call(call, spec)) for call in calls]
            progress(done + 1, len(wanted))
    closed = _by_formulas(calls, walker) if formulas else []
    shown = [*(predictions if specs else _winners(predictions)), *closed]
    if not specs:
        remarks = [_rule_line(calls, predictions, predict_call)]
    bounds = {call.bytes: link_seconds(call, its_machine) for call in calls}
    title = f"{collective}, {ranks} ranks on {parse_topology(where).nodes} nodes, {its_machine.name}"
    _print(title, shown, bounds, [f"machine: {its_machine.description}", *remarks])

    def draw() -> None:
        if png_file is None:
            return
        # Whole curves, also where another is the best.
        lines: dict[str, list[tuple[int, float]]] = {one.spec: [] for one in shown}
        for one in [*predictions, *closed]:
            if one.spec in lines:
                lines[one.spec].append((one.bytes, one.bytes / one.seconds))
        limit = [(size, size / bound) for size, bound in bounds.items() if bound]
        plots.plot_predictions(f"{title}, predicted", lines, limit, png_file)

    def write() -> None:
        if json_file:
            write_atomically(json_file, _to_json(collective, where, its_machine.name, shown))

    write_all(write, draw)


def _judge(machine: str, files: list[Path], sizes: list[int], json_file: Path | None) -> None:
    measured = read_measured(files)
    its_machine = load_machine(machine)
    judgement = judge(Model(its_machine), measured, min(sizes), max(sizes))
    if not judgement.pairs:
        raise StrettoError(
            f"--against: nothing there between {format_bytes(min(sizes))} and {format_bytes(max(sizes))}"
        )
    print_judgement(judgement)
    if json_file:
        libraries = ", ".join(dict.fromkeys(measured.libraries))
        write_atomically(json_file, judgement_json(judgement, its_machine.name, libraries))


def _predicted(spec: str, call: Call, result: Prediction) -> Predicted:
    return Predicted(spec, call.bytes, result.seconds, result.parts, result.extrapolated)


def _winners(predictions: list[Predicted]) -> list[Predicted]:
    """`native`, and at each size the best; of what is as good within 1 %, what is so at most sizes."""
    best = {one.bytes: one.seconds for one in sorted(predictions, key=lambda one: -one.seconds)}
    good = [one for one in predictions if one.seconds <= 1.01 * best[one.bytes]]
    kept = [one for one in predictions if one.spec == "native"]
    while good:
        spec = Counter(one.spec for one in good).most_common(1)[0][0]
        chosen = [one for one in good if one.spec == spec]
        kept += [one for one in chosen if spec != "native"]
        sizes = {one.bytes for one in chosen}
        good = [one for one in good if one.bytes not in sizes]
    return kept


def _by_formulas(calls: list[Call], walker: Model) -> list[Predicted]:
    if calls[0].collective != "allreduce":
        raise StrettoError("--formulas: the papers have them for allreduce only")
    result = []
    for form in closed_forms():
        for call in calls:
            where = parse_topology(call.topology)
            if where.min_ppn != where.max_ppn:
                raise StrettoError("--formulas: they count nodes of equally many ranks")
            seconds = form.seconds(call.bytes, where.nodes, where.max_ppn, 64, walker.machine)
            result.append(Predicted(f"{form.label} (formula)", call.bytes, seconds, {}))
    return result


def _rule_line(
    calls: list[Call], predictions: list[Predicted], predict_call: Callable[[Call, str], Prediction]
) -> str:
    """What the built-in rule loses against the best that was predicted."""
    regrets = []
    for call in calls:
        chosen = choose(call.collective, call.bytes, parse_topology(call.topology))
        times = {one.spec: one.seconds for one in predictions if one.bytes == call.bytes}
        if chosen not in times:
            times[chosen] = predict_call(call, chosen).seconds
        regrets.append((times[chosen] / min(times.values()) - 1, call.bytes, chosen))
    worst, size, chosen = max(regrets)
    return (
        f"built-in rule: {100 * statistics.mean(regret for regret, _, _ in regrets):.1f} % slower than "
        f"the best (mean), at worst {100 * worst:.0f} %: {chosen} of {format_bytes(size)}"
    )


def _print(
    title: str, predictions: list[Predicted], bounds: dict[int, float | None], remarks: list[str]
) -> None:
    table = Table(title=title, title_justify="left")
    for column in ("size", "spec", "time", "MB/s", "of bound", "of which"):
        table.add_column(column, justify="left" if column in ("spec", "of which") else "right")
    for size, bound in bounds.items():
        rows = [one for one in predictions if one.bytes == size]
        best = min(one.seconds for one in rows)
        for one in rows:
            cells = [
                format_bytes(size),
                one.spec,
                format_seconds(one.seconds),
                format_bandwidth(size / one.seconds),
                f"{100 * bound / one.seconds:.0f} %" if bound else "",
                _main_parts(one),
            ]
            table.add_row(*cells, style="bold" if one.seconds == best else "", end_section=one is rows[-1])
    console = console_for(table)
    console.print(table)
    for line in (
        *remarks,
        "MB/s: 10⁶ bytes of message by time; bold: the best of a size; native: the best textbook algorithm",
        "of which: what the critical path goes into"
        + (
            "; some are drawn out from fewer nodes or segments"
            if any(one.extrapolated for one in predictions)
            else ""
        ),
    ):
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _main_parts(one: Predicted) -> str:
    """Such as `wire 83 %, latency 12 %`: what makes up 95 % of the time."""
    text: list[str] = []
    said = 0.0
    for part, seconds in sorted(one.parts.items(), key=lambda item: -item[1]):
        if said > 0.95 * one.seconds or seconds <= 0:
            break
        text.append(f"{part} {100 * seconds / one.seconds:.0f} %")
        said += seconds
    return ", ".join(text)


def _to_json(collective: str, topology: str, machine: str, predictions: list[Predicted]) -> str:
    rows = [
        {
            "spec": one.spec,
            "bytes": one.bytes,
            "seconds": one.seconds,
            "parts": one.parts,
            "extrapolated": one.extrapolated,
        }
        for one in predictions
    ]
    content = {"collective": collective, "topology": topology, "machine": machine, "predictions": rows}
    return json.dumps(content, indent=1) + "\n"
