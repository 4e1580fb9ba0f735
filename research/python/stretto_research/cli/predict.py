# SPDX-License-Identifier: Apache-2.0
"""`stretto predict`: predict the times of collectives on a machine by the schedule walker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto import _core
from stretto._core import Prediction
from stretto.bench.options import check_picture
from stretto.cli.completion import complete_collective, complete_specs
from stretto.cli.options import ModelNodes, ModelPpn, Topology
from stretto.cli.result_options import AsJson, ResultFile, picture_file
from stretto.explain.measured import read_measured
from stretto.model.walker import Call, Model, candidates, link_seconds, load_machine, machine_names
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.recipes import check_collective
from stretto.spec.topologies import parse_topology, topology_text
from stretto.support.console import announce, print_result, progress_bar
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_all, write_atomically
from stretto.support.units import format_bytes, format_place, parse_sizes, split_list
from stretto_research.predict.device_copies import with_copies
from stretto_research.predict.judgement import judge, judgement_json
from stretto_research.predict.output import draw_predictions, print_judgement, print_predictions, rule_text
from stretto_research.predict.specs import (
    find_winners,
    predict_by_formulas,
    predict_on_device,
    predict_specs,
    predictions_json,
    rule_regret,
)


def predict(
    collective: Annotated[
        str,
        typer.Argument(help=f"One of {', '.join(_core.collectives())}", autocompletion=complete_collective),
    ],
    machine: Annotated[
        str, typer.Option(help=f"A machine file, or one of {', '.join(machine_names())}.")
    ] = "altec",
    nodes: ModelNodes = None,
    ppn: ModelPpn = None,
    topology: Topology = None,
    sizes: Annotated[str, typer.Option(help="Message sizes, as in stretto bench.")] = "1KiB..1GiB:4",
    specs: Annotated[
        str,
        typer.Option(
            help="Comma-separated list. Default: every spec that is the best at some size.",
            autocompletion=complete_specs,
        ),
    ] = "",
    formulas: Annotated[
        bool, typer.Option("--formulas", help="Add the papers' closed forms (allreduce).")
    ] = False,
    model: Annotated[str, typer.Option(help="Cost model: postal, node_aware or max_rate.")] = "max_rate",
    overlap: Annotated[
        str, typer.Option(help="Overlap of sends and receives: measured, full (OVLP) or none (NOVL).")
    ] = "measured",
    arithmetic: Annotated[
        bool, typer.Option("--arithmetic/--no-arithmetic", help="Whether reductions take time.")
    ] = True,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="COPIES",
            help="Add times for buffers in device memory, with copies of "
            "to_host=12GB/s,to_device=12GB/s,latency=10us, or those of the machine file: machine.",
        ),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Files of stretto bench or study: predict their calls, and judge the model by them.",
        ),
    ] = None,
    as_json: AsJson = False,
    output: ResultFile = None,
    png_file: Annotated[Path | None, picture_file("throughput over size")] = None,
) -> None:
    """Predict collectives on a machine: one of the papers', or one that stretto calibrate measured."""
    check_collective(collective)
    check_files([output], [png_file])
    check_picture(COLLECTIVES[collective], png_file)
    if against and device:
        raise StrettoError("--device: measured calls have their buffers in host memory; leave out --against")
    if against:
        _judge(machine, against, parse_sizes(sizes), as_json, output)
        return
    where = topology_text(topology, None, nodes, ppn, 8)
    its_machine = load_machine(machine, parse_topology(where).nodes)
    if device:
        its_machine = with_copies(its_machine, device)
    walker = Model(its_machine)
    wanted = split_list(specs) if specs else candidates(collective, where)
    has_message = COLLECTIVES[collective].has_message
    calls = [Call(collective, size, where) for size in (parse_sizes(sizes) if has_message else [0])]

    def predict_call(call: Call, spec: str, staging: str = "none") -> Prediction:
        return walker.predict(
            call, spec, model=model, overlap=overlap, arithmetic=arithmetic, staging=staging
        )

    with progress_bar("predicting") as progress:
        predictions = predict_specs(calls, wanted, predict_call, progress)
    closed = predict_by_formulas(calls, its_machine) if formulas else []
    shown = predictions if specs else find_winners(predictions)
    if device and has_message:
        shown = predict_on_device(shown, calls, predict_call, walker.copy_seconds)
    shown = [*shown, *closed]
    bounds = {call.bytes: link_seconds(call, its_machine) for call in calls}
    place = parse_topology(where)
    title = f"{collective}, {format_place(place.ranks, place.nodes)}, {its_machine.name}"
    notes = [f"machine: {its_machine.description}"]
    if not specs:
        notes.append(rule_text(rule_regret(calls, predictions, predict_call)))
    text = predictions_json(collective, where, its_machine.name, shown, bounds)
    print_result(as_json, lambda: text, lambda: print_predictions(title, shown, bounds, notes))

    def draw() -> None:
        if png_file:
            draw_predictions(title, [*predictions, *closed], shown, bounds, png_file)

    write_all(lambda: write_atomically(output, text) if output else None, draw)
    announce(output, png_file, as_json=as_json)


def _judge(machine: str, files: list[Path], sizes: list[int], as_json: bool, output: Path | None) -> None:
    measured = read_measured(files)
    nodes = max((parse_topology(call.topology).nodes for call in measured.by_call), default=1)
    its_machine = load_machine(machine, nodes)
    judgement = judge(Model(its_machine), measured, min(sizes), max(sizes))
    if not judgement.pairs:
        span = f"{format_bytes(min(sizes))} and {format_bytes(max(sizes))}"
        raise StrettoError(f"--against: the files have no calls between {span}; give other --sizes")
    text = judgement_json(judgement, its_machine.name, ", ".join(dict.fromkeys(measured.libraries)))
    print_result(as_json, lambda: text, lambda: print_judgement(judgement))
    if output:
        write_atomically(output, text)
    announce(output, as_json=as_json)
