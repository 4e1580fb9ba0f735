# SPDX-License-Identifier: Apache-2.0
"""Proves recipes on many topologies, in parallel on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from stretto import _core
from stretto.launch.jobs import end_with_parent
from stretto.spec.recipes import Recipe, all_recipes, find_recipes
from stretto.spec.topologies import flat_text, parse_topology, read_topology_text, telling_topologies
from stretto.support.console import Bar
from stretto.support.errors import StrettoError
from stretto.support.units import parse_ranks

_FEW_RANKS = 8
# The work of one task, in ranks squared: small enough that all cores are busy until the end.
_TASK_WORK = 40_000


@dataclass(frozen=True, slots=True)
class Scope:
    """The topologies on which recipes are proven."""

    topologies: list[str]
    text: str
    """The topologies as the end of a sentence: `for 1..64 ranks and 200 topologies`."""

    @classmethod
    def of(cls, topology: str) -> Scope:
        """Returns the scope of a single topology, given as text or in a file."""
        return cls([read_topology_text(topology)], f"on {topology}")

    @classmethod
    def many(cls, ranks: str, topologies: int) -> Scope:
        """Returns a scope with one rank per node for each of `ranks`, and topologies of fuller nodes.

        `topologies`: the number of topologies with several ranks per node.
        """
        texts = [flat_text(count) for count in parse_ranks(ranks)] + telling_topologies(topologies)
        return cls(texts, f"for {ranks} ranks and {topologies} topologies")


@dataclass(frozen=True, slots=True)
class Failure:
    """A proof that does not hold."""

    recipe: Recipe
    topology: str
    root: int
    error: str


@dataclass(frozen=True, slots=True)
class StandIns:
    """The ranks whose schedules were carried out, where they stood for others."""

    count: int
    compared: int
    """How many of the others have the schedules that the stand-ins stand for, as far as was compared."""
    others: int

    @property
    def are_sample(self) -> bool:
        """Whether some schedules were not compared. Then nothing is proven."""
        return self.compared < self.others


@dataclass(frozen=True, slots=True)
class Findings:
    """What the proofs of all recipes found."""

    failures: list[Failure] = field(default_factory=list)
    """One root for each recipe and topology at most."""
    stand_ins: dict[Recipe, StandIns] = field(default_factory=dict)
    """Those of one topology, where any stood for others: of a sample, if there is one."""

    def add(self, other: Findings) -> None:
        """Adds the findings of other proofs."""
        self.failures.extend(other.failures)
        for recipe, stand_ins in other.stand_ins.items():
            self.add_stand_ins(recipe, stand_ins)

    def add_stand_ins(self, recipe: Recipe, stand_ins: StandIns) -> None:
        """Adds those of another topology."""
        if recipe not in self.stand_ins or not self.stand_ins[recipe].are_sample:
            self.stand_ins[recipe] = stand_ins


@dataclass(frozen=True, slots=True)
class _Task:
    recipe: Recipe
    topologies: tuple[str, ...]


def roots_of(collective: str, ranks: int) -> list[int]:
    """Returns the roots to prove: all ranks if they are few, else the first two, the middle and the last."""
    if not _core.has_root(collective):
        return [0]
    return list(range(ranks)) if ranks <= _FEW_RANKS else sorted({0, 1, ranks // 2, ranks - 1})


def recipes_to_prove(names: Sequence[str], collective: str | None) -> list[Recipe]:
    """Returns the recipes with these names; all recipes if there are no names."""
    recipes = [one for name in names for one in find_recipes(name, collective)] or all_recipes(collective)
    return list(dict.fromkeys(recipes))


def prove_all(recipes: list[Recipe], topologies: list[str]) -> Findings:
    """Prove each recipe on each topology."""
    tasks = list(_tasks(recipes, topologies))
    all_found = Findings()
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
    )
    workers = max(1, min(len(tasks), len(os.sched_getaffinity(0))))
    with bar, ProcessPoolExecutor(workers, initializer=end_with_parent) as pool:
        row = bar.add_task("proving", total=len(recipes) * len(topologies))
        for task, found in zip(tasks, pool.map(_prove, tasks), strict=True):
            all_found.add(found)
            bar.update(row, advance=len(task.topologies), description=f"proving {task.recipe}")
    return all_found


def _tasks(recipes: list[Recipe], topologies: list[str]) -> Iterator[_Task]:
    # The largest topologies come first. They take longest, and would keep a single core busy at the end.
    ranks_of = {text: parse_topology(text).ranks for text in topologies}
    ordered = sorted(topologies, key=lambda text: -ranks_of[text])
    chunks: list[list[str]] = []
    work = _TASK_WORK
    for text in ordered:
        if work >= _TASK_WORK:
            chunks.append([])
            work = 0
        chunks[-1].append(text)
        work += ranks_of[text] ** 2
    for chunk in chunks:
        for recipe in recipes:
            yield _Task(recipe, tuple(chunk))


def _prove(task: _Task) -> Findings:
    found = Findings()
    for text in task.topologies:
        topology = parse_topology(text)
        for root in roots_of(task.recipe.collective, topology.ranks):
            try:
                report = _core.verify(task.recipe.collective, task.recipe.text, topology, root)
            except ValueError as error:
                raise StrettoError(f"{task.recipe.collective} {error}") from None
            if report.carried_out < topology.ranks:
                others = topology.ranks - report.carried_out
                stand_ins = StandIns(report.carried_out, report.compared, others)
                found.add_stand_ins(task.recipe, stand_ins)
            if not report.ok:
                found.failures.append(Failure(task.recipe, text, root, report.error))
                break
    return found
