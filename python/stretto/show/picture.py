# SPDX-License-Identifier: Apache-2.0
"""Draws a space-time diagram into a file."""

from __future__ import annotations

import colorsys
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.plots.pictures import new_figure, save_figure
from stretto.show.labels import STUCK_MEANS, local_label, operands, stuck_label
from stretto.show.timeline import Blocks, Local, Message, Stuck, Timeline
from stretto.show.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LANE_INCHES = 0.75
_NODE_GAP = 0.45  # lanes
_ARROW = (0.08, 0.9)  # the begin and end of a message, within its step
_STORE = (0.06, 0.1)  # the place of a writer's memory within its step, and its width
_STORE_LANES = 0.2
# The places of labels on an arrow: in lanes from the sender or receiver, or as a share of the arrow.
_LANES_OFF = (0.32, 0.5)
_SHARES = (0.5, 0.35, 0.65, 0.25, 0.75)


def draw_picture(view: View, title: str, caption: str, file: Path, rank_order: bool = False) -> None:
    """Draw ranks as lanes, nodes as bands, and time to the right; the file's suffix is the format."""
    timeline = view.timeline
    picture = _Picture(view)
    caption = "\n".join([caption, *view.notes])
    # Title and caption must fit.
    words = max(map(len, [title, *caption.split("\n")]))
    width = max(1.6 + picture.step_inches * max(1, timeline.steps), 1.2 + 0.075 * words)
    height = 1.9 + _LANE_INCHES * (picture.bottom + 1)
    figure = new_figure(width, height)
    axes = figure.subplots()
    _draw_lanes(axes, picture)
    for (step, lane), count in view.inside.items():
        _draw_inside(axes, picture, step, lane, count)
    for action in timeline.locals:
        _draw_local(axes, picture, action)
    # Messages between nodes are on top, and their labels are placed first.
    order = sorted(timeline.messages, key=lambda message: not timeline.crosses(message))
    before: Counter[tuple[int, int, int]] = Counter()
    stores: dict[tuple[int, int, Blocks], float] = {}
    for message in order:
        way = (message.step, message.sender, message.receiver)
        # Several messages of a pair are drawn side by side. Blocks that several ranks of a node read are
        # drawn once in the writer's memory.
        store = None
        if not timeline.crosses(message):
            written = (message.step, message.sender, message.sent)
            if written not in stores:
                others = sum(one[:2] == written[:2] for one in stores)
                stores[written] = picture.lane[message.sender] + _STORE_LANES * others
                _draw_store(axes, picture, message, stores[written])
            store = stores[written]
        _draw_message(axes, picture, message, rank_order, aside=0.14 * before[way], store=store)
        before[way] += 1
    for one in timeline.stuck:
        _draw_stuck(axes, picture, one)
    axes.set_title(title, fontsize=12)
    axes.set_xlabel(f"step\n{_picture_legend(timeline)}\n{caption}", fontsize=10)
    save_figure(figure, file, dpi=min(130, int(30000 / max(width, height))))


def _picture_legend(timeline: Timeline) -> str:
    words = ["number: blocks sent"] if timeline.blocks > 1 else []
    if any(message.reduces for message in timeline.messages):
        words += ["⊕ received and reduced", "• received"]
    words += (
        ["bold: between nodes", "▫╌▸ within a node: read from the writer's memory"]
        if timeline.tells_nodes
        else []
    )
    words += [f"red ✗: sends and receives that {STUCK_MEANS}"] if timeline.stuck else []
    return "     ".join(words)


@dataclass(slots=True)
class _Box:
    """A rectangle in inches."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: _Box) -> float:
        """Returns the area that both boxes cover."""
        width = (self.width + other.width) / 2 - abs(self.x - other.x)
        height = (self.height + other.height) / 2 - abs(self.y - other.y)
        return max(0.0, width) * max(0.0, height)


@dataclass(slots=True)
class _Picture:
    """The places of lanes, and the space that is already taken."""

    view: View
    step_inches: float = 0.0
    lane: dict[int, float] = field(default_factory=dict)
    taken: dict[int, list[_Box]] = field(default_factory=dict)  # by step

    def __post_init__(self) -> None:
        # Long schedules get narrower steps, but labels must still fit.
        self.step_inches = min(1.7, max(0.7, 24 / max(1, self.timeline.steps)))
        y = 0.0
        before = None
        for rank in self.timeline.by_node:
            node = self.timeline.node_of[rank]
            if before is not None:
                y += 1 + (_NODE_GAP if self.timeline.tells_nodes and node != before else 0)
            self.lane[rank] = y
            before = node
        self.taken = {step: [] for step in range(self.timeline.steps)}
        for message in self.timeline.messages:
            self.take(
                message.step, _Box(_ARROW[1] * self.step_inches, self._inches(message.receiver), 0.14, 0.14)
            )

    @property
    def timeline(self) -> Timeline:
        """The timeline that is drawn."""
        return self.view.timeline

    @property
    def bottom(self) -> float:
        """The position of the last lane."""
        return max(self.lane.values(), default=0.0)

    def _inches(self, rank: int) -> float:
        return self.lane[rank] * _LANE_INCHES

    def take(self, step: int, box: _Box) -> None:
        """Mark this space as taken."""
        self.taken[step].append(box)

    def place_label(self, message: Message, text: str) -> float:
        """Find the place on its arrow where a label overlaps least with others, as a share of the arrow."""
        begin, end = self._inches(message.sender), self._inches(message.receiver)
        lanes = abs(end - begin) / _LANE_INCHES  # 0 for a message of a rank to itself
        several = (
            sum(one.step == message.step and one.sender == message.sender for one in self.timeline.messages)
            > 1
        )
        near = [off / lanes for off in _LANES_OFF if off < lanes]
        # If a rank sends several messages at once, only the receivers' ends of their arrows are apart.
        sides = [[1 - at for at in near], near] if several else [near, [1 - at for at in near]]
        candidates = [*sides[0], *sides[1], *_SHARES]

        def box(at: float) -> _Box:
            x = (_ARROW[0] + at * (_ARROW[1] - _ARROW[0])) * self.step_inches
            return _Box(x, begin + at * (end - begin), 0.09 * len(text) + 0.05, 0.19)

        best = min(candidates, key=lambda at: sum(map(box(at).overlap, self.taken[message.step])))
        self.take(message.step, box(best))
        return best


def _colour(timeline: Timeline, blocks: Blocks, weight: float = 1.0) -> tuple[float, float, float]:
    """Returns the colour of blocks; a small weight makes it pale."""
    if timeline.blocks == 1:
        colour = (0.10, 0.33, 0.70)
    else:
        hue = blocks.first / timeline.blocks
        # Yellow and green are brighter than other hues.
        colour = colorsys.hls_to_rgb(hue, 0.34 if 0.1 < hue < 0.55 else 0.45, 0.85)
    red, green, blue = (weight * one + 1 - weight for one in colour)
    return red, green, blue


def _draw_lanes(axes: Axes, picture: _Picture) -> None:
    timeline = picture.timeline
    for rank in range(timeline.ranks):
        axes.axhline(picture.lane[rank], color="0.72", linewidth=1, zorder=0.5)
    for step in range(timeline.steps + 1):
        axes.axvline(step, color="0.85", linewidth=0.8, linestyle=":", zorder=0.4)
    for column, (one, other) in enumerate(pairwise(picture.view.steps)):
        if other > one + 1:
            _draw_gap(axes, picture, column + 1)
    if timeline.tells_nodes:
        _draw_nodes(axes, picture)
    axes.set_xlim(-0.05, max(1, timeline.steps) + 0.05)
    axes.set_ylim(picture.bottom + 0.6, -0.6)
    ranks = timeline.by_node
    axes.set_yticks([picture.lane[rank] for rank in ranks], [picture.view.lanes[rank] for rank in ranks])
    columns = range(timeline.steps)
    axes.set_xticks([one + 0.5 for one in columns], [str(picture.view.steps[one]) for one in columns])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_gap(axes: Axes, picture: _Picture, column: int) -> None:
    """Show that steps are left out before this column."""
    axes.axvline(column, color="white", linewidth=9, zorder=0.6)
    for lane in picture.lane.values():
        axes.text(column, lane, "⋯", fontsize=13, ha="center", va="center", color="0.4", zorder=7)


def _draw_inside(axes: Axes, picture: _Picture, step: int, lane: int, count: int) -> None:
    """Write how many messages ranks of a node exchange in a step."""
    axes.text(
        step + 0.5, picture.lane[lane] + 0.22, f"{count} inside", fontsize=7.5, ha="center", va="center",
        color="0.3", zorder=4,
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "0.75", "linewidth": 0.6},
    )  # fmt: skip


def _draw_nodes(axes: Axes, picture: _Picture) -> None:
    nodes = [picture.timeline.node_of[rank] for rank in picture.timeline.by_node]
    lanes = [picture.lane[rank] for rank in picture.timeline.by_node]
    borders = [0, *(i + 1 for i, (one, other) in enumerate(pairwise(nodes)) if one != other), len(nodes)]
    for begin, end in pairwise(borders):
        first, last = lanes[begin], lanes[end - 1]
        axes.axhspan(first - 0.55, last + 0.55, facecolor="0.945", edgecolor="none", zorder=0.1)
        axes.annotate(
            f"node {nodes[begin]}", (0, (first + last) / 2), (-58, 0),
            xycoords=("axes fraction", "data"), textcoords="offset points",
            rotation=90, ha="center", va="center", fontsize=10, fontweight="bold", color="0.3",
        )  # fmt: skip


def _draw_store(axes: Axes, picture: _Picture, message: Message, y: float) -> None:
    """Draw the blocks in the sender's memory, from which ranks of its node read them."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415  slow to load, and only pictures need it

    corner = (message.step + _STORE[0], y - 0.4 * _STORE_LANES)
    box = Rectangle(corner, _STORE[1], 0.8 * _STORE_LANES, zorder=3.5)
    box.set(facecolor="white", edgecolor=_colour(picture.timeline, message.sent, 0.8), linewidth=1.3)
    axes.add_patch(box)


def _draw_message(
    axes: Axes,
    picture: _Picture,
    message: Message,
    rank_order: bool,
    aside: float = 0.0,
    store: float | None = None,
) -> None:
    """Draw a message. `store`: the lane of the writer's memory, for a message within a node."""
    timeline = picture.timeline
    strong = timeline.crosses(message)
    colour = _colour(timeline, message.sent, 1.0 if strong else 0.55)
    begin, end = message.step + _ARROW[0], message.step + _ARROW[1]
    start_y, end_y = (picture.lane[rank] + aside for rank in (message.sender, message.receiver))
    if store is not None:
        begin, start_y = message.step + sum(_STORE), store
    line_width = 0.9 if not strong else 2.0 if timeline.tells_nodes else 1.5
    arrow = {
        "arrowstyle": "-|>",
        "color": colour,
        "linewidth": line_width,
        "shrinkA": 0,
        "shrinkB": 5,
        "linestyle": "-" if strong else (0, (4, 2)),
    }
    above = 3 if strong else 2
    axes.annotate("", xy=(end, end_y), xytext=(begin, start_y), arrowprops=arrow, zorder=above)
    bundle = picture.view.bundles[message.step, message.sender, message.receiver]
    label = f"{bundle}\u00d7" if bundle else ("s" if message.sent.scratch else "") + message.sent.numbers
    if timeline.blocks > 1 or bundle:
        at = picture.place_label(message, label)
        axes.text(
            begin + at * (end - begin), start_y + at * (end_y - start_y), label,
            color=_colour(timeline, message.sent, 1.0 if strong else 0.75),
            fontsize=9 if strong else 8, fontweight="bold" if strong else "normal", ha="center", va="center",
            bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
            zorder=4,
        )  # fmt: skip
    filled = not message.reduces
    axes.plot(
        end, end_y, "o",
        markersize=5 if filled else 10, color="0.25", markerfacecolor="0.25" if filled else "white", zorder=5,
    )  # fmt: skip
    if message.reduces:
        axes.plot(end, end_y, "+", markersize=7, color="0.25", markeredgewidth=1.4, zorder=6)
        if rank_order:
            clear_side = 13 if start_y > end_y else -13
            axes.annotate(
                operands(message), (end, end_y), (0, clear_side), textcoords="offset points",
                ha="center", va="center", fontsize=7, color="0.25",
            )  # fmt: skip


def _draw_stuck(axes: Axes, picture: _Picture, one: Stuck) -> None:
    """Draw half an arrow, from the rank or towards it, with a cross at the end."""
    y = picture.lane[one.rank]
    towards = picture.lane.get(one.peer, y)
    cross_y = y + 0.4 * (1 if towards > y else -1)
    begin, end = one.step + _ARROW[0], one.step + _ARROW[1]
    rank_x, cross_x = (begin, (begin + end) / 2) if one.sends else (end, (begin + end) / 2)
    axes.plot([rank_x, cross_x], [y, cross_y], color="red", linewidth=1.2, linestyle="--", zorder=6)
    axes.plot(cross_x, cross_y, "x", color="red", markersize=8, markeredgewidth=2, zorder=7)
    axes.annotate(
        stuck_label(one)[1:], (cross_x, cross_y), (7, 0), textcoords="offset points",
        color="red", fontsize=8, va="center", zorder=7,
    )  # fmt: skip


def _draw_local(axes: Axes, picture: _Picture, action: Local) -> None:
    label = local_label(action)
    # Simultaneous actions are drawn below each other.
    y = picture.lane[action.rank]
    box = _Box(0.5 * picture.step_inches, y * _LANE_INCHES, 0.08 * len(label) + 0.1, 0.2)
    while any(box.overlap(other) > 0 for other in picture.taken[action.step] if other.height == box.height):
        box.y += box.height
    picture.take(action.step, box)
    axes.text(
        action.step + 0.5, box.y / _LANE_INCHES, label,
        color=_colour(picture.timeline, action.into), fontsize=8, ha="center", va="center",
        bbox={"boxstyle": "square,pad=0.2", "facecolor": "white", "edgecolor": "0.5"}, zorder=4,
    )  # fmt: skip
