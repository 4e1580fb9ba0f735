# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto verify`: the recipes that were proven, and a failure of each that was not."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stretto.show.proof import Failure, Findings, Scope, StandIns
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
    stand_ins: StandIns | None = None
    """The ranks that stood for all others; None if all were carried out."""

    @property
    def is_proven(self) -> bool:
        """Whether the recipe is right on all topologies, and all schedules were looked at."""
        return self.simplest is None and not self.is_sample

    @property
    def is_sample(self) -> bool:
        """Whether some schedules were not looked at."""
        return self.stand_ins is not None and self.stand_ins.are_sample


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
            "proven": one.is_proven,
            "sampled": one.is_sample,
            "wrong_topologies": one.wrong,
            "simplest": one.simplest
            and {"topology": one.simplest.topology, "root": one.simplest.root, "error": one.simplest.error},
            "stand_ins": one.stand_ins and one.stand_ins.count,
            "compared": one.stand_ins and one.stand_ins.compared,
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
            verdict = "sampled, NOT PROVEN," if one.is_sample else "proven"
            print(f"{one.recipe}: {verdict} {scope.text}{_stand_ins_text(one.stand_ins)}")


def _stand_ins_text(stand_ins: StandIns | None) -> str:
    if stand_ins is None:
        return ""
    count = "1 rank that stands" if stand_ins.count == 1 else f"{stand_ins.count} ranks that stand"
    compared = f"only {stand_ins.compared} of" if stand_ins.are_sample else "all"
    return f", by {count} for all; {compared} {stand_ins.others} others were compared"


def _failure_text(failure: Failure) -> str:
    """Returns the failure, with options for `stretto show`."""
    root = f" --root {failure.root}" if failure.root else ""
    return f"{as_option(failure.topology)}{root}: {failure.error}"
