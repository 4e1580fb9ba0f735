# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto algorithms`: the registry as a table, and the costs of algorithms as Markdown."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.text import Text

from stretto import _core
from stretto.spec.recipes import Recipe, read_recipe
from stretto.spec.topologies import flat_text, parse_topology
from stretto.support.errors import StrettoError
from stretto.support.json_files import document_text
from stretto.support.tables import Column, ResultTable
from stretto.support.units import three_digits

_FLAT = [flat_text(ranks) for ranks in range(1, 65)]
_CONSECUTIVE = ["nodes=3,ppn=4", "nodes=4,ppn=3", "nodes=4,ppn=4", "ppn=4+4+1", "ppn=1+3+2", "nodes=1,ppn=6"]
_DEALT = [f"{text},mapping=by_node" for text in _CONSECUTIVE]
_CROSSING_NODES = (4, 16, 64, 256, 1024)
_CROSSING_PPN = (4, 16)
_CROSSING_RECIPES = ("recursive_doubling", "smp(recursive_doubling)", "nap")


def print_overview(collectives: Iterable[str]) -> None:
    """Print the algorithms of these collectives, a table for each."""
    for one in collectives:
        overview_table(one).print()


def overview_json(collectives: Sequence[str]) -> str:
    """Returns the document with the contents of the tables of these collectives."""
    rows = [
        {
            "collective": one.collective,
            "name": one.name,
            "pattern": pattern_text(one),
            "usual": one.usual,
            "description": one.description,
            "keeps_rank_order": order_text(one) or None,
        }
        for one in _core.algorithms()
        if one.collective in collectives
    ]
    return document_text("stretto-algorithms", sys.argv, None, {"algorithms": rows})


def overview_table(collective: str) -> ResultTable[_core.Algorithm]:
    """Returns a table of a collective's algorithms, with a description of each."""
    return ResultTable(
        [
            Column("algorithm", pattern_text, left=True, is_key=True),
            Column("what it does", _about, left=True, wraps=True, is_key=True),
        ],
        [one for one in _core.algorithms() if one.collective == collective],
        title=collective,
    )


def _about(one: _core.Algorithm) -> Text:
    notes = [f"default: {usual}"] if (usual := usual_text(one)) else []
    notes += [f"keeps rank order: {order}"] if (order := order_text(one)) else []
    text = Text(one.description)
    text.append("\n" + "; ".join(notes) if notes else "", style="dim")
    return text


def pattern_text(algorithm: _core.Algorithm) -> str:
    """Returns the algorithm as it is written in specs: `ring`, `knomial:radix=R`, `smp(ALLREDUCE)`."""
    parts = ",".join(collective.upper() for collective, _ in algorithm.parts)
    radix = ":radix=R" if algorithm.usual_radix else ""
    return f"{algorithm.name}({parts}){radix}" if parts else f"{algorithm.name}{radix}"


def usual_text(algorithm: _core.Algorithm) -> str:
    """Returns the defaults of R and of the parts in pattern_text: `4`, `ring`."""
    radix = [str(algorithm.usual_radix)] if algorithm.usual_radix else []
    return ", ".join([usual for _, usual in algorithm.parts] + radix)


def order_text(algorithm: _core.Algorithm) -> str:
    """Returns the condition under which operands are combined in rank order (a0 op a1 op …), as text.

    It is empty for collectives that do not reduce.
    """
    if not _core.is_reduction(algorithm.collective):
        return ""

    def keeps(texts: list[str]) -> list[bool]:
        ask = _core.keeps_order
        return [ask(algorithm.collective, algorithm.usual, parse_topology(text)) for text in texts]

    flat = keeps(_FLAT)
    if all(flat) and all(keeps(_CONSECUTIVE)):
        return "yes" if all(keeps(_DEALT)) else "if nodes hold consecutive ranks"
    if flat == [ranks & (ranks - 1) == 0 for ranks in range(1, 65)]:
        return "for powers of two"
    up_to = flat.index(False) if False in flat else len(flat)
    if any(flat[up_to:]):
        return f"for some of 1..{len(flat)} ranks"
    return f"up to {up_to} ranks" if up_to > 1 else "no"


def multiple(times: float) -> str:
    """Returns the traffic of a message of n bytes, as `1.75n`."""
    text = three_digits(times)
    text = text.rstrip("0").rstrip(".") if "." in text else text
    # Traffic that rounds to 0 keeps its digits.
    if text == "0":
        return f"{times:.2g}n" if times else "0"
    return "n" if text == "1" else f"{text}n"


@dataclass(frozen=True, slots=True)
class _Flow:
    """The traffic of the busiest rank or link."""

    messages: int
    message_multiple: float
    """The bytes of all these messages, as a multiple of the collective's message."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of an algorithm on a topology, as counted by its proof (docs/algorithms.md)."""

    collective: str
    topology: str
    ranks: int
    recipe: str
    rounds: int
    depth: int
    to_other_nodes: _Flow
    within_node: _Flow
    link: _Flow
    keeps_rank_order: bool | None
    """None for a collective that does not reduce, as is fixed_tree."""
    fixed_tree: bool | None


def find_costs(collectives: Iterable[str], topologies: Sequence[str]) -> Iterator[list[Costs]]:
    """Yields the costs of all algorithms, for each pair of a collective and a topology."""
    for collective in collectives:
        for text in topologies:
            yield [_costs(collective, one, text) for one in _usual(collective)]


def _usual(collective: str) -> list[str]:
    return [one.usual for one in _core.algorithms() if one.collective == collective]


def _costs(collective: str, recipe: str, text: str) -> Costs:
    topology = parse_topology(text)
    report = prove(Recipe(collective, recipe), topology)
    reduces = _core.is_reduction(collective)

    def flow(one: _core.Traffic) -> _Flow:
        return _Flow(one.messages, one.blocks / report.blocks)

    return Costs(
        collective, text, topology.ranks, recipe, report.rounds, report.depth, flow(report.between_nodes),
        flow(report.within_node), flow(report.link), report.keeps_order if reduces else None,
        _core.has_fixed_tree(collective, recipe, topology) if reduces else None,
    )  # fmt: skip


def costs_json(costs: Iterable[Sequence[Costs]]) -> str:
    """Returns the document with the costs."""
    rows = [asdict(one) for group in costs for one in group]
    return document_text("stretto-costs", sys.argv, None, {"costs": rows})


def print_costs(costs: Iterable[Sequence[Costs]]) -> None:
    """Print the costs as Markdown: a table for each collective and topology, a row for each algorithm."""
    print("\n\n".join("\n".join(_cost_table(group)) for group in costs))


def _cost_table(costs: Sequence[Costs]) -> Iterator[str]:
    first = costs[0]
    yield f"`{first.collective}` on `{first.topology}` ({first.ranks} ranks):"
    yield ""
    titles = ["spec", "rounds", "depth", "messages to other nodes", "within the node", "bytes to other nodes"]
    titles += ["over a node's link", "within the node"]
    titles += ["keeps rank order", "fixed tree"] if first.fixed_tree is not None else []
    yield from _rows(titles, map(_cost_cells, costs))


def _cost_cells(one: Costs) -> list[str]:
    cells = [f"`{one.recipe}`", str(one.rounds), str(one.depth)]
    cells += [str(one.to_other_nodes.messages), str(one.within_node.messages)]
    cells += [multiple(flow.message_multiple) for flow in (one.to_other_nodes, one.link, one.within_node)]
    order_and_tree = (one.keeps_rank_order, one.fixed_tree)
    return cells + ["yes" if is_so else "no" for is_so in order_and_tree if is_so is not None]


@dataclass(frozen=True, slots=True)
class Crossing:
    """The number of messages that the busiest rank of an allreduce sends to other nodes, by recipe."""

    nodes: int
    ppn: int
    messages: dict[str, int]


def find_crossings() -> list[Crossing]:
    """Returns the numbers of messages to other nodes on topologies of many nodes."""
    found = []
    for ppn in _CROSSING_PPN:
        for count in _CROSSING_NODES:
            topology = parse_topology(f"nodes={count},ppn={ppn}")
            reports = {one: prove(read_recipe("allreduce", one), topology) for one in _CROSSING_RECIPES}
            messages = {recipe: report.between_nodes.messages for recipe, report in reports.items()}
            found.append(Crossing(count, ppn, messages))
    return found


def crossings_json(crossings: Iterable[Crossing]) -> str:
    """Returns the document with the numbers of messages to other nodes."""
    rows = [asdict(one) for one in crossings]
    return document_text("stretto-crossings", sys.argv, None, {"crossings": rows})


def print_crossings(crossings: Iterable[Crossing]) -> None:
    """Print the numbers of messages to other nodes as a table in Markdown."""
    titles = ["nodes", "ppn", *(f"`{recipe}`" for recipe in _CROSSING_RECIPES)]
    rows = ([str(one.nodes), str(one.ppn), *map(str, one.messages.values())] for one in crossings)
    print("\n".join(_rows(titles, rows)))


def prove(recipe: Recipe, topology: _core.Topology) -> _core.Report:
    """Proves a recipe and returns the report. Raises StrettoError for one that is wrong or not proven."""
    report = _core.verify(recipe.collective, recipe.text, topology)
    if not report.ok:
        raise StrettoError(f"{recipe}: {report.error}")
    if report.is_sample:
        raise StrettoError(f"{recipe}: {topology.ranks} ranks are too many for a proof; take fewer")
    return report


def _rows(titles: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """Yields the lines of a Markdown table, with numbers aligned to the right."""
    table = list(rows)
    left = [any(not re.fullmatch("[0-9.]*n?", row[column]) for row in table) for column in range(len(titles))]
    yield f"| {' | '.join(titles)} |"
    yield f"| {' | '.join('---' if is_left else '--:' for is_left in left)} |"
    for row in table:
        yield f"| {' | '.join(row)} |"
