# SPDX-License-Identifier: Apache-2.0
"""Compares the papers' formulas, the schedule walker and SimGrid's SMPI, for all algorithms.

All three model the same machine: properties that SMPI cannot express are left out of the other two as well.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stretto._core import Machine, algorithms, build, closed_forms, parse_spec, why_unsupported
from stretto.model.machine_file import MachineFile, Protocol, file_text, read_machine_file
from stretto.model.walker import Call, Model, machine_text
from stretto.spec.topologies import parse_topology
from stretto_research.simulate.jobs import Job, run_jobs
from stretto_research.simulate.known_differences import KNOWN, SIZES, Case, Row
from stretto_research.simulate.platforms import load_platform, synchronous_from
from stretto_research.simulate.smpi import Progress

RANKS = (7, 8, 9, 15, 16, 32)
"""Numbers of ranks, one on each node of altec."""
SHAPES = ((2, 8), (4, 4), (8, 4), (2, 16))
"""Nodes of bluewaters, and ranks on each of them, for algorithms that need nodes of several ranks."""
TOLERATED = 0.2
"""Relative differences above this need a known reason."""
_NODES = 32
"""Nodes of each platform, so that all cases use parts of one cluster."""
_SEGMENTS = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """The absolute relative difference between a model and SMPI, over all calls of an algorithm."""

    median: float
    largest: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Differences of an algorithm on a machine."""

    machine: str
    collective: str
    spec: str
    rows: int
    walker: Difference
    formula: Difference | None
    over: list[Row]
    """Rows in which the walker or the formula exceeds the tolerance."""


def unexplained(rows: Iterable[Row]) -> list[Row]:
    """Returns rows in which the walker exceeds the tolerance for no known reason."""
    return [
        row for row in rows if _is_over(row.walker_off) and not any(known.explains(row) for known in KNOWN)
    ]


def all_cases(
    ranks: Sequence[int] = RANKS,
    shapes: Sequence[tuple[int, int]] = SHAPES,
    sizes: tuple[int, ...] = SIZES,
) -> list[Case]:
    """Returns cases for every algorithm; for some, also in segments.

    Algorithms that need nodes of several ranks run on `shapes`, all others with one rank per node.
    Algorithms for the ranks of one node have no case.
    """
    cases = []
    for algorithm in algorithms():
        specs = [algorithm.usual]
        if algorithm.segment_bytes and not algorithm.needs_shared_nodes:
            specs.append(f"{algorithm.usual}:segments={_SEGMENTS}")
        machine = "bluewaters" if algorithm.needs_shared_nodes else "altec"
        places = shapes if algorithm.needs_shared_nodes else [(count, 1) for count in ranks]
        for spec in specs:
            recipe = parse_spec(spec, algorithm.collective).recipe
            cases += [
                Case(machine, algorithm.collective, spec, nodes, ppn, sizes)
                for nodes, ppn in places
                if not why_unsupported(
                    algorithm.collective, recipe, parse_topology(f"nodes={nodes},ppn={ppn}")
                )
            ]
    return cases


def compare(cases: Sequence[Case], progress: Progress | None = None) -> list[Row]:
    """Returns the rows of each case by size. SMPI rounds sizes to whole elements and equal blocks."""
    platforms = {name: load_platform(name, _NODES) for name in {case.machine for case in cases}}
    models = {name: Model(machine_as_simulated(name)) for name in platforms}
    jobs = [
        Job(
            platforms[case.machine],
            case.nodes,
            case.spec,
            case.sizes,
            ppn=case.ppn,
            collective=case.collective,
            data=False,
        )
        for case in cases
    ]
    rows = []
    for case, points in zip(cases, run_jobs(jobs, progress), strict=True):
        model = models[case.machine]
        for point in points:
            call = Call(case.collective, point.bytes, case.topology)
            # Built-in platforms do not charge the engine.
            walker = model.predict(call, case.spec, engine=False).seconds
            formula = _formula_seconds(case, point.bytes, model.machine)
            rows.append(Row(case, point.bytes, point.seconds, walker, formula))
    return rows


def summarize(rows: Iterable[Row]) -> list[Summary]:
    """Returns a summary for each algorithm on each machine, in the order of the rows."""
    grouped: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        grouped.setdefault((row.case.machine, row.case.collective, row.case.spec), []).append(row)
    summaries = []
    for (machine, collective, spec), group in grouped.items():
        by_formula = [row.formula_off for row in group if row.formula_off is not None]
        summaries.append(
            Summary(
                machine,
                collective,
                spec,
                len(group),
                _difference([row.walker_off for row in group]),
                _difference(by_formula) if by_formula else None,
                [row for row in group if _is_over(row.walker_off) or _is_over(row.formula_off or 0)],
            )
        )
    return summaries


def _difference(offs: list[float]) -> Difference:
    return Difference(statistics.median(map(abs, offs)), max(map(abs, offs)))


def _is_over(off: float) -> bool:
    return abs(off) > TOLERATED


def machine_as_simulated(name: str) -> Machine:
    """Returns a built-in machine as SMPI models it: without sockets, and with one rendezvous threshold."""
    file = read_machine_file(machine_text(name))
    begin = synchronous_from(Machine(machine_text(name)))
    levels = {level: _waiting_from(begin, file.level(level)) for level in ("node", "network")}
    simulated: MachineFile = replace(file, levels=levels)
    return Machine(file_text(simulated))


def _waiting_from(begin: int, protocols: list[Protocol]) -> list[Protocol]:
    result = [replace(one, synchronous=one.begin >= begin) for one in protocols]
    if all(one.begin != begin for one in protocols):
        before = [one for one in protocols if one.begin < begin][-1]
        result.append(replace(before, begin=begin, synchronous=True))
    return sorted(result, key=lambda one: one.begin)


def _formula_seconds(case: Case, size: int, machine: Machine) -> float | None:
    """Returns the seconds by the papers' formula; None if there is none, as for pipelined schedules."""
    spec = parse_spec(case.spec, case.collective)
    forms = [one for one in closed_forms() if one.algorithm == spec.algorithm]
    if case.collective != "allreduce" or not forms or spec.segments > 1:
        return None
    # The segments in the formula of the segmented ring are the blocks of its schedule.
    blocks = build(case.collective, spec.recipe, parse_topology(case.topology), 0, 0).blocks
    return forms[0].seconds(size, case.nodes, case.ppn, blocks, machine)
