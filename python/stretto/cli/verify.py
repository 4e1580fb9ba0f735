# SPDX-License-Identifier: Apache-2.0
"""`stretto verify`: proofs that schedules are correct."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from stretto.cli.algorithms import Collective
from stretto.show.proof import Scope, prove_all, recipes_to_prove
from stretto.show.verdicts import print_verdicts


def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Algorithms or recipes, as smp or 'smp(ring)'; default: all."
        ),
    ] = None,
    collective: Collective = None,
    ranks: Annotated[str, typer.Option(help="Numbers of ranks, one per node: 8 or 1..64")] = "1..64",
    topologies: Annotated[
        int, typer.Option(min=0, help="How many more topologies: square, ragged, mapped by node, random.")
    ] = 200,
    topology: Annotated[
        str | None, typer.Option(help="Only this topology, as nodes=2,ppn=4, or a file.")
    ] = None,
) -> None:
    """Prove that algorithms are correct, by executing the schedules of all ranks symbolically.

    With up to 8 ranks, every rank is proven as root; with more, four of them.
    """
    recipes = recipes_to_prove(names or [], collective)
    scope = Scope.of(topology) if topology is not None else Scope.many(ranks, topologies)
    failures = prove_all(recipes, scope.topologies, Console(stderr=True))
    print_verdicts(recipes, scope, failures)
    if failures:
        raise typer.Exit(1)
