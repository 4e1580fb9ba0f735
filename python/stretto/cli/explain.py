# SPDX-License-Identifier: Apache-2.0
"""`stretto explain`: show which spec a call uses and why, beside all other candidates."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto import _core
from stretto.cli.completion import complete_collective
from stretto.cli.options import ModelNodes, ModelPpn, Topology
from stretto.cli.result_options import AsJson
from stretto.explain.explanation import explain_call, explained_topology, explanation_json, usual_source
from stretto.explain.explanation_output import print_explanation
from stretto.explain.measured import read_measured
from stretto.explain.overview import look_over, overview_json, print_overview
from stretto.explain.rule import print_rule, rule_json
from stretto.model.fabric_file import LATEST, fabric_paths, find_fabric
from stretto.model.walker import Call, Model, load_machine
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.recipes import check_collective
from stretto.spec.topologies import parse_topology
from stretto.support.console import print_result
from stretto.support.units import parse_bytes


def explain(
    collective: Annotated[
        str | None,
        typer.Argument(
            help=f"One of {', '.join(_core.collectives())}. Default: all.",
            show_default=False,
            autocompletion=complete_collective,
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--bytes",
            metavar="SIZE",
            help="Show one call with its candidates and their times: 16MiB, the default with --machine.",
        ),
    ] = None,
    nodes: ModelNodes = None,
    ppn: ModelPpn = None,
    topology: Topology = None,
    machine: Annotated[
        str | None,
        typer.Option(
            help="File of stretto calibrate, or a built-in machine. Default: the network of --fabric, "
            "else machine.json, else what jobs have measured."
        ),
    ] = None,
    fabric: Annotated[
        str | None,
        typer.Option(
            help="The findings of jobs about a network: a file, or latest. Shows what chooses the spec.",
            metavar="FILE|latest",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="Tuning table. Default: STRETTO_TABLE, or the table at the default place.", metavar="FILE"
        ),
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            help="Library of the table at the default place: openmpi, mpich or intelmpi; or sockets. "
            "Default: that of --fabric, or openmpi."
        ),
    ] = None,
    measured: Annotated[
        list[Path] | None,
        typer.Option(help="JSON files of stretto bench or study, to compare with.", metavar="FILE"),
    ] = None,
    rule: Annotated[
        bool,
        typer.Option("--rule", help="Print the built-in rule instead, which decides if nothing else does."),
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="How many candidates to show.")] = 12,
    as_json: AsJson = False,
) -> None:
    """Show which specs a job uses. With --bytes, show one call and why it uses its spec.

    Without --bytes, one table has all sizes. The candidates of one call have predicted and measured times,
    and the bound by the links.
    """
    if rule:
        print_result(as_json, lambda: rule_json(sys.argv), print_rule)
        return
    if collective is not None:
        check_collective(collective)
    if size is None and not machine and not measured:
        known = find_fabric(fabric or LATEST, os.environ) if fabric or fabric_paths(os.environ) else None
        if fabric is None and known and mpi not in (None, known.family):
            known = None
        if known is None and (nodes, ppn, topology) == (None, None, None):
            nodes, ppn = 1, max(2, len(os.sched_getaffinity(0)))
        where = explained_topology(topology, nodes, ppn, known, None)
        family = mpi or (known.family if known else "openmpi")
        overview = look_over([collective] if collective else _core.collectives(), where, table, family, known)
        print_result(as_json, lambda: overview_json(overview, sys.argv), lambda: print_overview(overview))
        return
    collective = collective or "allreduce"
    its_bytes = parse_bytes(size or "16MiB") if COLLECTIVES[collective].has_message else 0
    machine, fabric = usual_source(machine, fabric, os.environ)
    known = find_fabric(fabric, os.environ) if fabric else None
    call = Call(collective, its_bytes, explained_topology(topology, nodes, ppn, known, machine))
    its_nodes = parse_topology(call.topology).nodes
    model = Model(
        known.machine_for(its_nodes) if known and machine is None else load_machine(machine or "", its_nodes)
    )
    family = mpi or (known.family if known else "openmpi")
    explanation = explain_call(call, model, read_measured(measured or []), table, family, known)
    print_result(
        as_json,
        lambda: explanation_json(explanation, sys.argv),
        lambda: print_explanation(explanation, top),
    )
