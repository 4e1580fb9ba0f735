# SPDX-License-Identifier: Apache-2.0
"""The papers' formulas, the schedule walker and SimGrid's SMPI side by side, for all algorithms.

All three speak of one machine: what SMPI cannot be told of it is left out of the others, too.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from stretto._core import Machine, algorithms, build, closed_forms, parse_spec
from stretto.model.machine_file import MachineFile, Protocol, file_text, read_machine_file
from stretto.model.walker import Call, Model, machine_text
from stretto.simulate.jobs import Job, simulate
from stretto.simulate.platforms import load_platform, synchronous_from
from stretto.simulate.smpi import Progress
from stretto.spec.topologies import parse_topology

SIZES = (8, 1 << 10, 64 << 10, 1 << 20, 16 << 20)
RANKS = (7, 8, 9, 15, 16, 32)
"""One on each node of altec."""
SHAPES = ((2, 8), (4, 4), (8, 4), (2, 16))
"""Nodes of bluewaters and ranks on each, for what needs nodes of several ranks."""
TOLERATED = 0.2
"""More needs a reason."""
_NODES = 32
"""Of each platform, so that it is one cluster whatever part of it is used."""
_SEGMENTS = 4


@dataclass(frozen=True, slots=True)
class Case:
    """One way to carry out a collective, on some nodes of a machine."""

    machine: str
    collective: str
    spec: str
    nodes: int
    ppn: int
    sizes: tuple[int, ...] = SIZES

    @property
    def topology(self) -> str:
        """As an option names it."""
        return f"nodes={self.nodes},ppn={self.ppn}"


@dataclass(frozen=True, slots=True)
class Row:
    """What a call takes by each of the three, in seconds."""

    case: Case
    bytes: int
    smpi: float
    walker: float
    formula: float | None
    """None where the papers have none."""

    @property
    def walker_off(self) -> float:
        """How much longer it takes by the walker than by SMPI: 0.5 is half as long again."""
        return self.walker / self.smpi - 1

    @property
    def formula_off(self) -> float | None:
        """The same of the formula."""
        return None if self.formula is None else self.formula / self.smpi - 1


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one of the models is from SMPI over all calls of an algorithm, without sign."""

    median: float
    largest: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The rows of an algorithm on a machine."""

    machine: str
    collective: str
    spec: str
    rows: int
    walker: Difference
    formula: Difference | None
    over: list[Row]
    """Where the walker or the formula is off by more than is tolerated."""


@dataclass(frozen=True, slots=True)
class Known:
    """Why the walker and SMPI disagree on calls of one algorithm."""

    collective: str
    spec: str
    condition: str
    """When, in words."""
    holds: Callable[[Case, int], bool]
    """When: of a call, and its bytes."""
    reason: str
    example: tuple[int, int, int]
    """Nodes, ranks on each, and bytes of a call on which they do."""

    def explains(self, row: Row) -> bool:
        """Whether this is about that row."""
        return (self.collective, self.spec) == (row.case.collective, row.case.spec) and self.holds(
            row.case, row.bytes
        )


_AT_ONCE = (
    "SMPI shares links evenly among all messages under way: short ones that a rank sends ahead to another "
    "all arrive when the last of them does, so that no pipeline begins; the walker, as MPI over one "
    "connection, sends one after the other"
)
_SENT_AHEAD = (
    "short messages are under way before anybody waits for them: in SMPI they slow down the one that is "
    "waited for, the walker serves that one first"
)
_TWO_EXCHANGES = (
    "the last of an odd number of ranks has two exchanges at once: SMPI ends both at the end, the walker one "
    "of them half-way"
)
_NO_PORT = (
    "in SMPI a rank has no port: several messages of one rank at once are each as fast as one alone, and "
    "those inside a node share nothing"
)


def _bytes(least: int, most: int, least_nodes: int = 2) -> Callable[[Case, int], bool]:
    return lambda case, size: least <= size <= most and case.nodes >= least_nodes


def _nine_ranks(case: Case, size: int) -> bool:
    return case.nodes == 9 and size == _64K


def _short_blocks(case: Case, size: int) -> bool:
    return size >= _64K and size < _64K * case.nodes


def _fifteen_ranks(case: Case, size: int) -> bool:
    return case.nodes == 15 and size >= 15 * _64K


_64K = 64 << 10
_1M = 1 << 20
_16M = 16 << 20
_LONGER = _bytes(_64K, 1 << 40)
_SHORT_SEGMENTS = ("64 KiB", _bytes(_64K, _64K), _AT_ONCE, (8, 1, _64K))
_LATE = ("64 KiB, 9 ranks", _nine_ranks, _SENT_AHEAD, (9, 1, _64K))
KNOWN = (
    Known("allreduce", "rabenseifner", *_LATE),
    Known("allreduce", "rabenseifner:segments=4", *_LATE),
    Known("allreduce", "swing", *_LATE),
    Known("reduce_scatter", "recursive_halving", *_LATE),
    Known("bcast", "binomial:segments=4", *_SHORT_SEGMENTS),
    Known("bcast", "chain:segments=4", *_SHORT_SEGMENTS),
    Known("reduce", "chain:segments=4", *_SHORT_SEGMENTS),
    Known("bcast", "scatter_allgather", "blocks below 64 KiB", _short_blocks, _AT_ONCE, (32, 1, _1M)),
    Known("bcast", "scatter_recursive_doubling", *_SHORT_SEGMENTS),
    Known(
        "allgather",
        "ring:segments=4",
        "1 MiB, 15 ranks and more",
        _bytes(_1M - 32, _1M, 15),
        _AT_ONCE,
        (32, 1, _1M),
    ),
    Known(
        "allgather",
        "neighbor_exchange",
        "from 1 MiB on, 15 ranks",
        _fifteen_ranks,
        _TWO_EXCHANGES,
        (15, 1, _16M),
    ),
    Known("reduce_scatter", "multilane", "from 64 KiB on", _LONGER, _NO_PORT, (4, 4, _16M)),
    Known("allgather", "multilane", "from 64 KiB on", _LONGER, _NO_PORT, (2, 8, _16M)),
)
"""Every difference between the walker and SMPI of more than is tolerated, over all_cases()."""


def example_case(known: Known) -> Case:
    """The call by which a reason can be seen."""
    nodes, ppn, size = known.example
    machine = "altec" if ppn == 1 else "bluewaters"
    return Case(machine, known.collective, known.spec, nodes, ppn, (size,))


def unexplained(rows: Iterable[Row]) -> list[Row]:
    """Where the walker is off by more than is tolerated for no known reason."""
    return [
        row for row in rows if _is_over(row.walker_off) and not any(known.explains(row) for known in KNOWN)
    ]


def all_cases(
    ranks: Sequence[int] = RANKS,
    shapes: Sequence[tuple[int, int]] = SHAPES,
    sizes: tuple[int, ...] = SIZES,
) -> list[Case]:
    """Every algorithm with one rank a node, some in segments, too; on fuller nodes those made for them."""
    cases = []
    for algorithm in algorithms():
        specs = [algorithm.usual]
        if algorithm.segment_bytes and not algorithm.needs_shared_nodes:
            specs.append(f"{algorithm.usual}:segments={_SEGMENTS}")
        machine = "bluewaters" if algorithm.needs_shared_nodes else "altec"
        places = shapes if algorithm.needs_shared_nodes else [(count, 1) for count in ranks]
        for spec in specs:
            cases += [Case(machine, algorithm.collective, spec, nodes, ppn, sizes) for nodes, ppn in places]
    return cases


def compare(cases: Sequence[Case], progress: Progress | None = None) -> list[Row]:
    """The rows of each case, by size. Sizes are those that SMPI had: whole elements and equal blocks."""
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
    for case, points in zip(cases, simulate(jobs, progress), strict=True):
        model = models[case.machine]
        for point in points:
            call = Call(case.collective, point.bytes, case.topology)
            # Built-in platforms charge nothing for the engine.
            walker = model.predict(call, case.spec, engine=False).seconds
            formula = _formula_seconds(case, point.bytes, model.machine)
            rows.append(Row(case, point.bytes, point.seconds, walker, formula))
    return rows


def summarize(rows: Iterable[Row]) -> list[Summary]:
    """One for each algorithm on each machine, in the order of the rows."""
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
    """A built-in machine as SMPI knows it: without sockets, and with one size from which messages wait."""
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
    """None for what is in none of the papers' tables, as anything that is cut into messages in flight."""
    spec = parse_spec(case.spec, case.collective)
    forms = [one for one in closed_forms() if one.algorithm == spec.algorithm]
    if case.collective != "allreduce" or not forms or spec.segments > 1:
        return None
    # What the formula of the segmented ring calls segments are the blocks of its schedule.
    blocks = build(case.collective, spec.recipe, parse_topology(case.topology), 0, 0).blocks
    return forms[0].seconds(size, case.nodes, case.ppn, blocks, machine)
