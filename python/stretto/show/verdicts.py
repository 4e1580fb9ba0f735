# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto verify`: the recipes that were proven, and a failure of each that was not."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stretto.show.proof import Failure, Findings, Scope
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
    stand_ins: int | None = None
    """How many ranks stood for all others; None if all were carried out."""


def judge_all(recipes: Iterable[Recipe], found: Findings) -> Iterator[Verdict]:
    """Yields the verdict on each recipe."""
    for recipe in recipes:
        wrong = [failure for failure in found.failures if failure.recipe == recipe]
        simplest = min(wrong, key=lambda one: parse_topology(one.topology).ranks, default=None)
        yield Verdict(recipe, len(wrong), simplest, found.stand_ins.get(recipe))


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
            "stand_ins": one.stand_ins,
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
            print(f"{one.recipe}: proven {scope.text}{_stand_ins_text(one.stand_ins)}")


def _stand_ins_text(count: int | None) -> str:
    if count is None:
        return ""
    return ", by 1 rank that stands for all" if count == 1 else f", by {count} ranks that stand for all"


def _failure_text(failure: Failure) -> str:
    """Returns the failure, with options for `stretto show`."""
    root = f" --root {failure.root}" if failure.root else ""
    return f"{as_option(failure.topology)}{root}: {failure.error}"
