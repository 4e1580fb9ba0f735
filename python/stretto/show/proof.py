# SPDX-License-Identifier: Apache-2.0
"""Proves many recipes on many topologies, on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from stretto import _core
from stretto.launch.jobs import end_with_parent
from stretto.spec.recipes import Recipe
from stretto.spec.topologies import parse_topology
from stretto.support.console import Bar

_FEW_RANKS = 8
# Work of one task of a worker, in units of ranks squared: small enough to keep the cores busy to the end.
_TASK_WORK = 40_000


@dataclass(frozen=True, slots=True)
class Failure:
    """A proof that does not hold."""

    recipe: Recipe
    topology: str
    root: int
    error: str


@dataclass(frozen=True, slots=True)
class _Task:
    recipe: Recipe
    topologies: tuple[str, ...]


def roots_of(collective: str, ranks: int) -> list[int]:
    """The roots that are proven: all of a few ranks; the first two, the middle and the last of many."""
    if not _core.has_root(collective):
        return [0]
    return list(range(ranks)) if ranks <= _FEW_RANKS else sorted({0, 1, ranks // 2, ranks - 1})


def prove_all(recipes: list[Recipe], topologies: list[str], console: Console) -> list[Failure]:
    """What does not hold; of each recipe and topology the first root only."""
    tasks = list(_tasks(recipes, topologies))
    failures: list[Failure] = []
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
        console=console,
    )
    workers = max(1, min(len(tasks), len(os.sched_getaffinity(0))))
    with bar, ProcessPoolExecutor(workers, initializer=end_with_parent) as pool:
        row = bar.add_task("proving", total=len(recipes) * len(topologies))
        for task, found in zip(tasks, pool.map(_prove, tasks), strict=True):
            failures += found
            bar.update(row, advance=len(task.topologies), description=f"proving {task.recipe}")
    return failures


def _tasks(recipes: list[Recipe], topologies: list[str]) -> Iterator[_Task]:
    # The largest take longest: begun last they would run alone.
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


def _prove(task: _Task) -> list[Failure]:
    failures = []
    for text in task.topologies:
        topology = parse_topology(text)
        for root in roots_of(task.recipe.collective, topology.ranks):
            report = _core.verify(task.recipe.collective, task.recipe.text, topology, root)
            if not report.ok:
                failures.append(Failure(task.recipe, text, root, report.error))
                break
    return failures
