# SPDX-License-Identifier: Apache-2.0
"""`stretto algorithms`: the registered algorithms, and what each costs."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto import _core
from stretto.cli.result_options import AsJson
from stretto.show.algorithms import (
    costs_json,
    crossings_json,
    find_costs,
    find_crossings,
    overview_json,
    print_costs,
    print_crossings,
    print_overview,
)
from stretto.spec.recipes import check_collective
from stretto.spec.topologies import read_topology_text
from stretto.support.console import print_result

_TABLE_TOPOLOGY = "nodes=8,ppn=4"

Collective = Annotated[str | None, typer.Option(help=", ".join(_core.collectives()), metavar="NAME")]


def algorithms(
    collective: Collective = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print costs as Markdown, a table for each --topology.")
    ] = False,
    topology: Annotated[
        list[str] | None, typer.Option(help=f"For --table; default {_TABLE_TOPOLOGY}.")
    ] = None,
    nap: Annotated[
        bool,
        typer.Option(
            "--nap", help="Print how many messages nap, smp and recursive doubling send to other nodes."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the algorithms."""
    chosen = _core.collectives() if collective is None else [check_collective(collective)]
    if nap:
        crossings = find_crossings()
        print_result(as_json, lambda: crossings_json(crossings), lambda: print_crossings(crossings))
    elif table:
        costs = list(find_costs(chosen, [read_topology_text(text) for text in topology or [_TABLE_TOPOLOGY]]))
        print_result(as_json, lambda: costs_json(costs), lambda: print_costs(costs))
    else:
        print_result(as_json, lambda: overview_json(chosen), lambda: print_overview(chosen))
