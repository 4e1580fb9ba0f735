# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto verify`: the recipes that were proven, and a failure of each that was not."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stretto.show.proof import Failure, Scope
from stretto.spec.recipes import Recipe
from stretto.spec.topologies import as_option, parse_topology
from stretto.support.json_files import document_text


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the proofs of a recipe."""

    recipe: Recipe
    wrong: int
    """The number of topologies on which the recipe is wrong."""
    simplest: Failure | None
    """The failure with the fewest ranks."""


def judge_all(recipes: Iterable[Recipe], failures: Sequence[Failure]) -> Iterator[Verdict]:
    """Yields the verdict on each recipe."""
    for recipe in recipes:
        wrong = [failure for failure in failures if failure.recipe == recipe]
        simplest = min(wrong, key=lambda one: parse_topology(one.topology).ranks, default=None)
        yield Verdict(recipe, len(wrong), simplest)


def verdicts_json(verdicts: Iterable[Verdict], scope: Scope) -> str:
    """Returns the document with the verdicts."""
    rows = [
        {
            "collective": one.recipe.collective,
            "recipe": one.recipe.text,
            "proven": one.simplest is None,
            "wrong_topologies": one.wrong,
            "simplest": one.simplest
            and {"topology": one.simplest.topology, "root": one.simplest.root, "error": one.simplest.error},
        }
        for one in verdicts
    ]
    content = {"topologies": len(scope.topologies), "verdicts": rows}
    return document_text("stretto-verdicts", sys.argv, scope.text, content)


def print_verdicts(verdicts: Iterable[Verdict], scope: Scope) -> None:
    """Print a line for each recipe, and a second one for each that is wrong."""
    for one in verdicts:
        if one.simplest:
            where = f"{one.wrong} of {len(scope.topologies)} topologies"
            print(f"{one.recipe}: WRONG on {where};\n  {_failure_text(one.simplest)}")
        else:
            print(f"{one.recipe}: proven {scope.text}")


def _failure_text(failure: Failure) -> str:
    """Returns the failure, with options for `stretto show`."""
    root = f" --root {failure.root}" if failure.root else ""
    return f"{as_option(failure.topology)}{root}: {failure.error}"
