# SPDX-License-Identifier: Apache-2.0
"""Space-time diagrams of schedules: as text for a terminal, as a picture in a file."""

from __future__ import annotations

import colorsys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from stretto.timeline import Blocks, Local, Message, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TERMINAL_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red", "bright_cyan", "bright_yellow")


def draw_text(timeline: Timeline, rank_order: bool = False) -> Table:
    """Time goes down, a column each rank; colours tell blocks apart."""
    cells = [[Text() for _ in range(timeline.ranks)] for _ in range(timeline.steps)]
    for message in timeline.messages:
        _append(
            cells[message.step][message.sender], f"→{message.receiver} {_name(message.sent)}", message.sent
        )
    for message in timeline.messages:
        arrival = f"←{message.sender} {_arrival(message, rank_order)}"
        _append(cells[message.step][message.receiver], arrival, message.into)
    for action in timeline.locals:
        _append(cells[action.step][action.rank], _local_label(action), action.into)
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("step", justify="right", style="dim")
    for rank in range(timeline.ranks):
        table.add_column(f"rank {rank}", no_wrap=True)
    for step, row in enumerate(cells):
        table.add_row(str(step), *row, end_section=True)
    return table


def text_legend(rank_order: bool) -> str:
    """How to read the cells of draw_text."""
    reduces = "←1 +b5 reduces it with what it has"
    if rank_order:
        reduces = "←1 b5=recv+own reduces, what arrives on the left; ←1 b5=own+recv on the right"
    return (
        f"→2 b5 sends block 5 to rank 2; ←1 b5 receives block 5 from rank 1; {reduces}; "
        "in5 is block 5 of the input, s0 a block of scratch memory"
    )


def _append(cell: Text, words: str, blocks: Blocks) -> None:
    if cell:
        cell.append("\n")
    cell.append(words, style=_TERMINAL_COLOURS[blocks.first % len(_TERMINAL_COLOURS)])


def _name(blocks: Blocks) -> str:
    return ("s" if blocks.scratch else "b") + blocks.numbers


def _operand_name(blocks: Blocks) -> str:
    return f"in{blocks.numbers}" if blocks.buffer == "input" else _name(blocks)


def _arrival(message: Message, rank_order: bool) -> str:
    into = _name(message.into)
    if not message.reduces:
        return into
    return f"{into}={_operands(message)}" if rank_order else f"+{into}"


def _operands(message: Message) -> str:
    return "recv+own" if message.arrives_left else "own+recv"


def _local_label(action: Local) -> str:
    into, left = _name(action.into), _operand_name(action.left)
    return f"{into}={left}" if action.right is None else f"{into}={left}+{_operand_name(action.right)}"


def draw_file(timeline: Timeline, title: str, file: Path, rank_order: bool = False) -> None:
    """Ranks are lanes, time goes to the right; the file's suffix says the format."""
    from matplotlib.figure import Figure  # noqa: PLC0415  slow to load, and only pictures need it

    # Long schedules get narrower steps, but labels must still fit.
    step_width = min(1.7, max(0.7, 80 / max(1, timeline.steps)))
    width = 1.4 + step_width * max(1, timeline.steps)
    figure = Figure(figsize=(width, 1.5 + 0.75 * timeline.ranks), layout="constrained")
    axes = figure.subplots()
    _draw_lanes(axes, timeline)
    senders = Counter((message.step, message.sender) for message in timeline.messages)
    for message in timeline.messages:
        # Labels stand a third of a lane beside a lane of their own: the sender's, or, where it sends several
        # messages at once, the receivers'.
        label_at = 0.32 / abs(message.receiver - message.sender)
        if senders[message.step, message.sender] > 1:
            label_at = 1 - label_at
        _draw_message(axes, timeline, message, label_at, rank_order)
    for action in timeline.locals:
        _draw_local(axes, timeline, action)
    axes.set_title(title, fontsize=12)
    caption = "number: blocks sent     ⊕ what arrives is reduced     • what arrives is kept"
    axes.set_xlabel(f"step\n{caption}", fontsize=10)
    figure.savefig(file, dpi=min(130, int(30000 / width)))


def _colour(timeline: Timeline, blocks: Blocks) -> tuple[float, float, float]:
    hue = blocks.first / max(1, timeline.blocks)
    # Yellows and greens are bright by themselves.
    return colorsys.hls_to_rgb(hue, 0.34 if 0.1 < hue < 0.55 else 0.45, 0.85)


def _draw_lanes(axes: Axes, timeline: Timeline) -> None:
    for rank in range(timeline.ranks):
        axes.axhline(rank, color="0.75", linewidth=1, zorder=0)
    for step in range(timeline.steps + 1):
        axes.axvline(step, color="0.88", linewidth=0.8, linestyle=":", zorder=0)
    axes.set_xlim(-0.05, max(1, timeline.steps) + 0.05)
    axes.set_ylim(timeline.ranks - 0.4, -0.6)
    axes.set_yticks(range(timeline.ranks), [f"rank {rank}" for rank in range(timeline.ranks)])
    steps = range(timeline.steps)
    axes.set_xticks([step + 0.5 for step in steps], [str(step) for step in steps])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_message(axes: Axes, timeline: Timeline, message: Message, at: float, rank_order: bool) -> None:
    colour = _colour(timeline, message.sent)
    begin, end = message.step + 0.08, message.step + 0.9
    axes.annotate(
        "",
        xy=(end, message.receiver),
        xytext=(begin, message.sender),
        arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 5},
    )
    axes.text(
        begin + at * (end - begin),
        message.sender + at * (message.receiver - message.sender),
        ("s" if message.sent.scratch else "") + message.sent.numbers,
        color=colour,
        fontsize=9,
        fontweight="bold",
        ha="center",
        va="center",
        bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.9},
        zorder=4,
    )
    filled = not message.reduces
    axes.plot(
        end, message.receiver, "o",
        markersize=5 if filled else 10, color="0.25", markerfacecolor="0.25" if filled else "white", zorder=5,
    )  # fmt: skip
    if message.reduces:
        axes.plot(end, message.receiver, "+", markersize=7, color="0.25", markeredgewidth=1.4, zorder=6)
        if rank_order:
            clear_side = 13 if message.sender > message.receiver else -13
            axes.annotate(
                _operands(message), (end, message.receiver), (0, clear_side), textcoords="offset points",
                ha="center", va="center", fontsize=7, color="0.25",
            )  # fmt: skip


def _draw_local(axes: Axes, timeline: Timeline, action: Local) -> None:
    axes.text(
        action.step + 0.5,
        action.rank,
        _local_label(action),
        color=_colour(timeline, action.into),
        fontsize=8,
        ha="center",
        va="center",
        bbox={"boxstyle": "square,pad=0.25", "facecolor": "white", "edgecolor": "0.5"},
        zorder=4,
    )
