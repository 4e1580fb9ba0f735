# SPDX-License-Identifier: Apache-2.0
"""`stretto algorithms`: the registered algorithms, and what each costs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from stretto import _core
from stretto.show.algorithms import cost_tables, crossing_table, overview_table
from stretto.spec.recipes import check_collective
from stretto.spec.topologies import read_topology_text

_TABLE_TOPOLOGY = "nodes=8,ppn=4"

Collective = Annotated[str | None, typer.Option(help="|".join(_core.collectives()), metavar="NAME")]


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
) -> None:
    """List the algorithms."""
    chosen = _core.collectives() if collective is None else [check_collective(collective)]
    if nap:
        print("\n".join(crossing_table()))
    elif table:
        texts = [read_topology_text(text) for text in topology or [_TABLE_TOPOLOGY]]
        print("\n".join(cost_tables(chosen, texts)).rstrip("\n"))
    else:
        for one in chosen:
            Console().print(overview_table(one))
