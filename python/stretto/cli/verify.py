# SPDX-License-Identifier: Apache-2.0
"""`stretto verify`: proofs that schedules are correct."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto.cli.algorithms import Collective
from stretto.cli.result_options import AsJson
from stretto.show.proof import Scope, prove_all, recipes_to_prove
from stretto.show.verdicts import judge_all, print_verdicts, verdicts_json
from stretto.support.console import print_result


def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Algorithms or recipes, such as smp or 'smp(ring)'; default: all."
        ),
    ] = None,
    collective: Collective = None,
    ranks: Annotated[str, typer.Option(help="Numbers of ranks, one per node: 8 or 1..64")] = "1..64",
    topologies: Annotated[
        int, typer.Option(min=0, help="How many more topologies: square, ragged, mapped by node, random.")
    ] = 200,
    topology: Annotated[
        str | None, typer.Option(help="Only this topology, such as nodes=2,ppn=4, or a file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove that algorithms are correct, by executing the schedules of all ranks symbolically.

    With up to 8 ranks, every rank is proven as root; with more, four of them. On many ranks, one or a few
    that behave like all others stand for them; their schedules are compared. Where these are too many for
    that, the verdict is "sampled", which is no proof. Ends with status 1 unless all is proven.
    """
    recipes = recipes_to_prove(names or [], collective)
    scope = Scope.of(topology) if topology is not None else Scope.many(ranks, topologies)
    found = prove_all(recipes, scope.topologies)
    verdicts = list(judge_all(recipes, found))
    print_result(as_json, lambda: verdicts_json(verdicts, scope), lambda: print_verdicts(verdicts, scope))
    if not all(verdict.is_proven for verdict in verdicts):
        raise typer.Exit(1)
