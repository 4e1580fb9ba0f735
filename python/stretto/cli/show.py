# SPDX-License-Identifier: Apache-2.0
"""`stretto show`: the space-time diagram of a schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.algorithms import Collective
from stretto.cli.result_options import AsJson
from stretto.show.diagram import check_picture_file, diagram_json, draw_diagram, make_diagram
from stretto.show.terminal import print_diagram
from stretto.spec.recipes import find_recipe
from stretto.spec.topologies import parse_topology, topology_text
from stretto.support.console import announce, print_lines, print_result
from stretto.support.files import check_files


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An algorithm or recipe: ring, 'smp(ring)'.")],
    collective: Collective = None,
    ranks: Annotated[
        int | None, typer.Option(min=1, help="Number of ranks, one per node; default 4.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Number of nodes.")] = None,
    ppn: Annotated[int | None, typer.Option(min=1, help="Ranks per node.")] = None,
    topology: Annotated[
        str | None, typer.Option(help="Any topology, such as ppn=4+4+1 or map=0,0,1, or a file.")
    ] = None,
    root: Annotated[int, typer.Option(min=0, help="Root rank, for a collective that has one.")] = 0,
    rank_order: Annotated[
        bool, typer.Option("--rank-order", help="Show which operand of a reduction is the received one.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw into this .svg, .png or .pdf file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw the schedule of an algorithm as a space-time diagram."""
    recipe = find_recipe(name, collective)
    if output is not None:
        check_picture_file(output)
    check_files([output])
    where = parse_topology(topology_text(topology, ranks, nodes, ppn, usual_ranks=4))
    diagram = make_diagram(recipe, where, root, rank_order)
    if output is not None:
        draw_diagram(diagram, output, rank_order)

    def show_it() -> None:
        if output is None:
            print_diagram(diagram, rank_order)
        else:
            print_lines([diagram.title], style="bold")
            announce(output)

    print_result(as_json, lambda: diagram_json(diagram), show_it)
