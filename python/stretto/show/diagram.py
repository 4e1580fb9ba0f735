# SPDX-License-Identifier: Apache-2.0
"""The diagram of a recipe on a topology: its timeline, with a title and a caption that states its costs."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from stretto import _core
from stretto.show.algorithms import multiple
from stretto.show.picture import draw_picture
from stretto.show.timeline import Timeline, make_timeline
from stretto.show.view import make_view
from stretto.spec.recipes import Recipe
from stretto.support.errors import StrettoError
from stretto.support.json_files import document_text
from stretto.support.units import format_count

_FORMATS = (".svg", ".png", ".pdf")


@dataclass(frozen=True, slots=True)
class Diagram:
    """The diagram that `stretto show` draws."""

    recipe: Recipe
    root: int
    report: _core.Report
    timeline: Timeline
    title: str
    caption: str


def check_picture_file(file: Path) -> None:
    """Refuse a file name whose suffix is not one of the formats."""
    if file.suffix.lower() not in _FORMATS:
        raise StrettoError(f"{file}: expected a name that ends in {', '.join(_FORMATS)}")


def make_diagram(recipe: Recipe, topology: _core.Topology, root: int, rank_order: bool) -> Diagram:
    """Build the schedules of all ranks and prove them; a wrong schedule is drawn as well.

    Raises StrettoError for a recipe that cannot be built on this topology.
    """
    try:
        schedules = [
            _core.build(recipe.collective, recipe.text, topology, root, rank)
            for rank in range(topology.ranks)
        ]
        report = _core.verify(recipe.collective, recipe.text, topology, root)
    except ValueError as error:
        raise StrettoError(str(error)) from None
    timeline = make_timeline(
        schedules, topology.node_of, names_input=recipe.collective in ("alltoall", "alltoallv")
    )
    title = _title(recipe, topology, root, timeline)
    if rank_order and _core.is_reduction(recipe.collective):
        title += f", {'keeps' if report.keeps_order else 'does not keep'} rank order"
    caption = _caption(report, timeline)
    if why_unsupported := _core.why_unsupported(recipe.collective, recipe.text, topology, root):
        caption += f"\nnot useful here: {why_unsupported}"
    return Diagram(recipe, root, report, timeline, title, caption)


def draw_diagram(diagram: Diagram, file: Path, rank_order: bool) -> None:
    """Write the diagram as SVG, PNG or PDF."""
    view = make_view(diagram.timeline, diagram.root)
    draw_picture(view, diagram.title, diagram.caption, file, rank_order)


def diagram_json(diagram: Diagram) -> str:
    """Returns the document of the diagram: each message and each action inside a rank, by step."""
    report, recipe = diagram.report, diagram.recipe
    content = {
        "collective": recipe.collective,
        "recipe": recipe.text,
        "root": diagram.root if _core.has_root(recipe.collective) else None,
        "error": report.error or None,
        "keeps_rank_order": report.keeps_order if _core.is_reduction(recipe.collective) else None,
        "caption": diagram.caption.splitlines(),
        **asdict(diagram.timeline),
    }
    return document_text("stretto-schedule", sys.argv, None, content)


def _title(recipe: Recipe, topology: _core.Topology, root: int, timeline: Timeline) -> str:
    parts = [str(recipe), format_count(topology.ranks, "rank")]
    if timeline.tells_nodes:
        parts.append(format_count(topology.nodes, "node"))
    if _core.has_root(recipe.collective):
        parts.append(f"root {root}")
    return ", ".join([*parts, format_count(timeline.blocks, "block"), format_count(timeline.steps, "step")])


def _caption(report: _core.Report, timeline: Timeline) -> str:
    """Returns the traffic of the busiest rank and of the busiest link, for a message of n bytes."""
    if not report.ok:
        return f"WRONG: {report.error}"

    def traffic(one: _core.Traffic) -> str:
        return f"{format_count(one.messages, 'message')}, {multiple(one.blocks / report.blocks)} bytes"

    rounds = f"busiest rank: {format_count(report.rounds, 'round')}"
    if not timeline.tells_nodes:
        return f"{rounds}, sends {traffic(report.between_nodes)}"
    inside = f"{traffic(report.within_node)} within its node"
    link = f"busiest link of a node: {traffic(report.link)}"
    return f"{rounds}, sends {traffic(report.between_nodes)} to other nodes; {inside}\n{link}"
