# SPDX-License-Identifier: Apache-2.0
"""What `stretto algorithms` prints: the registry as a table, and the costs of algorithms as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from stretto import _core
from stretto.spec.recipes import Recipe, read_recipe
from stretto.spec.topologies import flat_text, parse_topology
from stretto.support.errors import StrettoError
from stretto.support.units import three_digits

_FLAT = [flat_text(ranks) for ranks in range(1, 65)]
_CONSECUTIVE = ["nodes=3,ppn=4", "nodes=4,ppn=3", "nodes=4,ppn=4", "ppn=4+4+1", "ppn=1+3+2", "nodes=1,ppn=6"]
_DEALT = [f"{text},mapping=by_node" for text in _CONSECUTIVE]
_CROSSING_NODES = (4, 16, 64, 256, 1024)
_CROSSING_PPN = (4, 16)
_CROSSING_RECIPES = ("recursive_doubling", "smp(recursive_doubling)", "nap")


def overview_table(collective: str) -> Table:
    """The algorithms of a collective, with what each does."""
    table = Table(
        title=collective, title_justify="left", title_style="bold", box=SIMPLE_HEAD, header_style="bold",
        pad_edge=False,
    )  # fmt: skip
    table.add_column("algorithm", no_wrap=True)
    table.add_column("what it does")
    for one in _core.algorithms():
        if one.collective != collective:
            continue
        notes = [f"default: {usual}"] if (usual := usual_text(one)) else []
        notes += [f"keeps rank order: {order}"] if (order := order_text(one)) else []
        text = Text(one.description)
        text.append("\n" + "; ".join(notes) if notes else "", style="dim")
        table.add_row(pattern_text(one), text)
    return table


def pattern_text(algorithm: _core.Algorithm) -> str:
    """How a spec writes the algorithm: `ring`, `knomial:radix=R`, `smp(ALLREDUCE)`."""
    parts = ",".join(collective.upper() for collective, _ in algorithm.parts)
    radix = ":radix=R" if algorithm.usual_radix else ""
    return f"{algorithm.name}({parts}){radix}" if parts else f"{algorithm.name}{radix}"


def usual_text(algorithm: _core.Algorithm) -> str:
    """The defaults of R and of the parts in pattern_text: `4`, `ring`."""
    radix = [str(algorithm.usual_radix)] if algorithm.usual_radix else []
    return ", ".join([usual for _, usual in algorithm.parts] + radix)


def order_text(algorithm: _core.Algorithm) -> str:
    """When operands are combined in rank order (a0 op a1 op …); empty for collectives that do not reduce."""
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


def multiple(blocks: int, whole: int) -> str:
    """The traffic of a message of n bytes, as `1.75n`."""
    text = three_digits(blocks / whole)
    text = text.rstrip("0").rstrip(".") if "." in text else text
    # Traffic that rounds to 0 keeps its digits.
    if text == "0":
        return "0" if blocks == 0 else f"{blocks / whole:.2g}n"
    return "n" if text == "1" else f"{text}n"


def cost_tables(collectives: Iterable[str], topologies: Iterable[str]) -> Iterator[str]:
    """Lines of Markdown: a table for each collective and topology, a row for each algorithm."""
    texts = list(topologies)
    for collective in collectives:
        for text in texts:
            yield from _cost_table(collective, text)
            yield ""


def _cost_table(collective: str, text: str) -> Iterator[str]:
    topology = parse_topology(text)
    reduces = _core.is_reduction(collective)
    yield f"`{collective}` on `{text}` ({topology.ranks} ranks):"
    yield ""
    titles = ["spec", "rounds", "depth", "messages to other nodes", "within the node", "bytes to other nodes"]
    titles += ["over a node's link", "within the node"]
    titles += ["keeps rank order", "fixed tree"] if reduces else []
    yield from _rows(titles, (_costs(collective, one, topology) for one in _usual(collective)))


def _usual(collective: str) -> list[str]:
    return [one.usual for one in _core.algorithms() if one.collective == collective]


def _costs(collective: str, recipe: str, topology: _core.Topology) -> list[str]:
    report = prove(Recipe(collective, recipe), topology)
    cells = [f"`{recipe}`", str(report.rounds), str(report.depth)]
    cells += [str(report.between_nodes.messages), str(report.within_node.messages)]
    cells += [
        multiple(one.blocks, report.blocks) for one in (report.between_nodes, report.link, report.within_node)
    ]
    if _core.is_reduction(collective):
        fixed = _core.has_fixed_tree(collective, recipe, topology)
        cells += ["yes" if report.keeps_order else "no", "yes" if fixed else "no"]
    return cells


def crossing_table() -> Iterator[str]:
    """Lines of Markdown: how many messages the busiest rank of an allreduce sends to other nodes."""
    titles = ["nodes", "ppn", *(f"`{recipe}`" for recipe in _CROSSING_RECIPES)]
    rows = []
    for ppn in _CROSSING_PPN:
        for count in _CROSSING_NODES:
            topology = parse_topology(f"nodes={count},ppn={ppn}")
            reports = [prove(read_recipe("allreduce", recipe), topology) for recipe in _CROSSING_RECIPES]
            rows.append([str(count), str(ppn), *(str(report.between_nodes.messages) for report in reports)])
    yield from _rows(titles, rows)


def prove(recipe: Recipe, topology: _core.Topology) -> _core.Report:
    """The report of a correct recipe. Raises StrettoError for a wrong one."""
    report = _core.verify(recipe.collective, recipe.text, topology)
    if not report.ok:
        raise StrettoError(f"{recipe}: {report.error}")
    return report


def _rows(titles: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """The lines of a Markdown table, with numbers aligned to the right."""
    table = list(rows)
    left = [any(not re.fullmatch("[0-9.]*n?", row[column]) for row in table) for column in range(len(titles))]
    yield f"| {' | '.join(titles)} |"
    yield f"| {' | '.join('---' if is_left else '--:' for is_left in left)} |"
    for row in table:
        yield f"| {' | '.join(row)} |"
