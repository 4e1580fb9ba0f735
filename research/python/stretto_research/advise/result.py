# SPDX-License-Identifier: Apache-2.0
"""Answers the question of `stretto advise`: searches by the model, and checks a sample by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.model.walker import Model
from stretto.support.console import progress_bar
from stretto.support.units import format_place
from stretto_research.advise.check import Check, check
from stretto_research.advise.cluster import Cluster
from stretto_research.advise.search import Advice, search
from stretto_research.simulate.smpi import PACKAGE, find_smpirun

_REDUCING = ("allreduce", "reduce", "reduce_scatter")


@dataclass(frozen=True, slots=True)
class Question:
    """One collective on a number of nodes, at several sizes."""

    collective: str
    nodes: int
    ppn: int
    sizes: Sequence[int]


@dataclass(frozen=True, slots=True)
class Result:
    """Advice for each size, and how it was found."""

    title: str
    advice: list[Advice]
    checked: Check | None
    """None if no sample was simulated."""
    remarks: list[str]


def find_advice(question: Question, cluster: Cluster, *, check_sample: bool) -> Result:
    """Find the fastest spec for each size; with `check_sample`, simulate a sample if SimGrid is installed."""
    collective, nodes, ppn = question.collective, question.nodes, question.ppn
    model = Model(cluster.machine)
    with progress_bar("predicting") as progress:
        topology = f"nodes={nodes},ppn={ppn}"
        advice = search(model, collective, topology, question.sizes, lambda part: progress(part, 1.0))
    checked: Check | None = None
    can_check = find_smpirun() is not None
    if check_sample and can_check:
        with progress_bar("simulating") as progress:
            checked = check(model, collective, nodes, ppn, advice, progress)
        advice = checked.advice
    remarks = [cluster.description]
    if collective in _REDUCING:
        remarks.append(
            "the libraries are as SMPI imitates them, for a user-defined operation; with MPI_SUM, MPICH "
            "takes less time for long messages"
        )
    if check_sample and not can_check:
        remarks.append(f"not checked by simulation: SimGrid is not installed (Debian, Ubuntu: {PACKAGE})")
    title = f"{collective}, {format_place(nodes * ppn, nodes)}, {cluster.machine.name}"
    return Result(title, advice, checked, remarks)
