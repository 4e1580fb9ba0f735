# SPDX-License-Identifier: Apache-2.0
"""`stretto algorithms`, `stretto verify` and `stretto show`: what is known without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from stretto import _core
from stretto.show.algorithms import (
    cost_tables,
    crossing_table,
    multiple,
    order_text,
    pattern_text,
    usual_text,
)
from stretto.show.drawing import draw_file, draw_text, text_legend
from stretto.show.proof import Failure, prove_all
from stretto.show.timeline import Timeline, make_timeline
from stretto.spec.recipes import Recipe, all_recipes, check_collective, find_recipe, find_recipes
from stretto.spec.topologies import (
    as_option,
    flat_text,
    parse_topology,
    read_topology_text,
    telling_topologies,
    topology_text,
)
from stretto.support.errors import StrettoError
from stretto.support.files import check_files
from stretto.support.units import parse_ranks

_FORMATS = (".svg", ".png", ".pdf")
_TABLE_TOPOLOGY = "nodes=8,ppn=4"
_CROSSING_NODES = (4, 16, 64, 256, 1024)
_CROSSING_PPN = (4, 16)
_CROSSING_RECIPES = ("recursive_doubling", "smp(recursive_doubling)", "nap")

_Collective = Annotated[str | None, typer.Option(help="|".join(_core.collectives()), metavar="NAME")]


def algorithms(
    collective: _Collective = None,
    table: Annotated[
        bool, typer.Option("--table", help="What each costs, as Markdown, on every --topology.")
    ] = False,
    topology: Annotated[
        list[str] | None, typer.Option(help=f"Of --table; {_TABLE_TOPOLOGY} unless given.")
    ] = None,
    nap: Annotated[
        bool,
        typer.Option("--nap", help="How many messages nap, smp and recursive doubling send between nodes."),
    ] = False,
) -> None:
    """List the algorithms."""
    chosen = _core.collectives() if collective is None else [check_collective(collective)]
    if nap:
        print("\n".join(crossing_table(_CROSSING_RECIPES, _CROSSING_NODES, _CROSSING_PPN)))
    elif table:
        texts = [read_topology_text(text) for text in topology or [_TABLE_TOPOLOGY]]
        print("\n".join(cost_tables(chosen, texts)).rstrip("\n"))
    else:
        for one in chosen:
            Console().print(_overview(one))


def _overview(collective: str) -> Table:
    table = Table(
        title=collective, title_justify="left", title_style="bold", box=SIMPLE_HEAD, header_style="bold",
        pad_edge=False,
    )  # fmt: skip
    table.add_column("algorithm", no_wrap=True)
    table.add_column("what it does")
    for one in _core.algorithms():
        if one.collective != collective:
            continue
        notes = [f"unless given: {usual}"] if (usual := usual_text(one)) else []
        notes += [f"keeps rank order: {order}"] if (order := order_text(one)) else []
        text = Text(one.description)
        text.append("\n" + "; ".join(notes) if notes else "", style="dim")
        table.add_row(pattern_text(one), text)
    return table


def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Algorithms or recipes, as smp or 'smp(ring)'; all unless given."
        ),
    ] = None,
    collective: _Collective = None,
    ranks: Annotated[str, typer.Option(help="Numbers of ranks, one a node: 8 or 1..64")] = "1..64",
    topologies: Annotated[
        int, typer.Option(min=0, help="Topologies besides: square, ragged, mapped by node, random.")
    ] = 200,
    topology: Annotated[
        str | None, typer.Option(help="This one instead, as nodes=2,ppn=4, or a file.")
    ] = None,
) -> None:
    """Prove that algorithms are correct, by executing the schedules of all ranks symbolically.

    Where there is a root, every one of up to 8 ranks is proven, and four of more.
    """
    numbers = parse_ranks(ranks)
    recipes = [one for name in names or [] for one in find_recipes(name, collective)] or all_recipes(
        collective
    )
    if topology is not None:
        texts = [read_topology_text(topology)]
        extent = f"on {topology}"
    else:
        texts = [flat_text(count) for count in numbers] + telling_topologies(topologies)
        extent = f"for {ranks} ranks and {topologies} topologies"
    recipes = list(dict.fromkeys(recipes))
    failures = prove_all(recipes, texts, Console(stderr=True))
    for recipe in recipes:
        wrong = [failure for failure in failures if failure.recipe == recipe]
        if wrong:
            print(f"{recipe}: WRONG on {len(wrong)} of {len(texts)} topologies;\n  {_first_text(wrong)}")
        else:
            print(f"{recipe}: proven {extent}")
    if failures:
        raise typer.Exit(1)


def _first_text(failures: list[Failure]) -> str:
    """The failure that is easiest to look at, and how `stretto show` is told to."""
    first = min(failures, key=lambda failure: parse_topology(failure.topology).ranks)
    root = f" --root {first.root}" if first.root else ""
    return f"{as_option(first.topology)}{root}: {first.error}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An algorithm or recipe: ring, 'smp(ring)'.")],
    collective: _Collective = None,
    ranks: Annotated[
        int | None, typer.Option(min=1, help="Number of ranks, one a node; 4 unless given.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Number of nodes.")] = None,
    ppn: Annotated[int | None, typer.Option(min=1, help="Ranks on each node.")] = None,
    topology: Annotated[
        str | None, typer.Option(help="Any topology, as ppn=4+4+1 or map=0,0,1, or a file.")
    ] = None,
    root: Annotated[int, typer.Option(min=0, help="Of a collective that has one.")] = 0,
    rank_order: Annotated[
        bool, typer.Option("--rank-order", help="Show on which side of the operator what arrives stands.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw into this .svg, .png or .pdf file.")
    ] = None,
) -> None:
    """Draw the schedule of an algorithm as a space-time diagram."""
    recipe = find_recipe(name, collective)
    if output is not None and output.suffix.lower() not in _FORMATS:
        raise StrettoError(f"{output}: expected a name that ends in {', '.join(_FORMATS)}")
    check_files([output])
    where = parse_topology(topology_text(topology, ranks, nodes, ppn, usual_ranks=4))
    timeline, report = _look_at(recipe, where, root)
    title = _title(recipe, where, root, timeline)
    if rank_order and _core.is_reduction(recipe.collective):
        title += f", {'keeps' if report.keeps_order else 'does not keep'} rank order"
    caption = _caption(report, timeline)
    if misfit := _core.misfit(recipe.collective, recipe.text, where, root):
        caption += f"\nof no use here: {misfit}"
    if output is not None:
        draw_file(timeline, title, caption, output, rank_order)
        print(f"{output}: {title}")
        return
    console = Console()
    table = draw_text(timeline, rank_order)
    needed = Measurement.get(console, console.options.update(max_width=10000), table).maximum
    too_wide = console.is_terminal and needed > console.width
    console.print(title, style="bold", highlight=False, markup=False, soft_wrap=True)
    console.width = max(console.width, needed)
    console.print(table, soft_wrap=True)
    console.print(caption, highlight=False, markup=False, soft_wrap=True)
    legend = text_legend(timeline, rank_order)
    console.print(legend, style="dim", highlight=False, markup=False, soft_wrap=True)
    if too_wide:
        console.print("too wide for this terminal: draw it into a file with -o NAME.svg", highlight=False)


def _look_at(recipe: Recipe, topology: _core.Topology, root: int) -> tuple[Timeline, _core.Report]:
    try:
        schedules = [
            _core.build(recipe.collective, recipe.text, topology, root, rank)
            for rank in range(topology.ranks)
        ]
        report = _core.verify(recipe.collective, recipe.text, topology, root)
    except ValueError as error:
        raise StrettoError(str(error)) from None
    return make_timeline(schedules, topology.node_of), report


def _title(recipe: Recipe, topology: _core.Topology, root: int, timeline: Timeline) -> str:
    parts = [str(recipe), _count(topology.ranks, "rank")]
    if timeline.tells_nodes:
        parts.append(_count(topology.nodes, "node"))
    if _core.has_root(recipe.collective):
        parts.append(f"root {root}")
    return ", ".join([*parts, _count(timeline.blocks, "block"), _count(timeline.steps, "step")])


def _caption(report: _core.Report, timeline: Timeline) -> str:
    """What the busiest rank and link carry of a message of n bytes."""
    if not report.ok:
        return f"WRONG: {report.error}"

    def traffic(one: _core.Traffic) -> str:
        return f"{_count(one.messages, 'message')}, {multiple(one.blocks, report.blocks)} bytes"

    rounds = f"busiest rank: {_count(report.rounds, 'round')}"
    if not timeline.tells_nodes:
        return f"{rounds}, sends {traffic(report.between_nodes)}"
    inside = f"{traffic(report.within_node)} within its node"
    link = f"busiest link of a node: {traffic(report.link)}"
    return f"{rounds}, sends {traffic(report.between_nodes)} to other nodes; {inside}\n{link}"
