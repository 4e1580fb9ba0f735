# SPDX-License-Identifier: Apache-2.0
"""Prints a diagram as text: time goes down, with a column for each rank."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from stretto.show.diagram import Diagram
from stretto.show.labels import STUCK_MEANS, block_name, local_label, operands, sent_name, stuck_label
from stretto.show.timeline import Blocks, Message, Timeline
from stretto.support.console import standard_output

_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red", "bright_cyan", "bright_yellow")


def print_diagram(diagram: Diagram, rank_order: bool) -> None:
    """Print title, steps, caption and legend; lines are never wrapped."""
    console = standard_output()
    table = draw_text(diagram.timeline, rank_order)
    needed = Measurement.get(console, console.options.update(max_width=10000), table).maximum
    too_wide = console.is_terminal and needed > console.width
    console.print(diagram.title, style="bold", highlight=False, markup=False, soft_wrap=True)
    console.width = max(console.width, needed)
    console.print(table, soft_wrap=True)
    console.print(diagram.caption, highlight=False, markup=False, soft_wrap=True)
    legend = text_legend(diagram.timeline, rank_order)
    console.print(legend, style="dim", highlight=False, markup=False, soft_wrap=True)
    if too_wide:
        console.print("too wide for this terminal: draw it into a file with -o NAME.svg", highlight=False)


def draw_text(timeline: Timeline, rank_order: bool = False) -> Table:
    """Returns a table with a row for each step and a column for each rank, by node; colours are blocks."""
    cells = [[Text() for _ in range(timeline.ranks)] for _ in range(timeline.steps)]
    for message in timeline.messages:
        arrow = "⇒" if _stands_out(timeline, message) else "→"
        departure = f"{arrow}{message.receiver} {sent_name(timeline, message)}"
        _append(cells[message.step][message.sender], departure, message.sent)
    for message in timeline.messages:
        arrow = "⇐" if _stands_out(timeline, message) else "←"
        arrival = f"{arrow}{message.sender} {_arrival(message, rank_order)}"
        _append(cells[message.step][message.receiver], arrival, message.into)
    for action in timeline.locals:
        _append(cells[action.step][action.rank], local_label(action), action.into)
    for one in timeline.stuck:
        _append_words(cells[one.step][one.rank], stuck_label(one), "bold red")
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(_under_node(timeline, "step"), justify="right", style="dim")
    is_first = _first_of_nodes(timeline)
    for rank in timeline.by_node:
        if rank in is_first and timeline.tells_nodes:
            table.add_column("│\n│", style="dim")
        node = f"node {timeline.node_of[rank]}" if rank in is_first else ""
        table.add_column(_under_node(timeline, f"rank {rank}", node), no_wrap=True)
    for step, row in enumerate(cells):
        bar = "\n".join("│" * max(1 + cell.plain.count("\n") for cell in row))
        drawn: list[str | Text] = [str(step)]
        for rank in timeline.by_node:
            if rank in is_first and timeline.tells_nodes:
                drawn.append(bar)
            drawn.append(row[rank])
        table.add_row(*drawn, end_section=True)
    return table


def text_legend(timeline: Timeline, rank_order: bool) -> str:
    """Returns a legend for the cells of draw_text."""
    reduces = "←1 +b5 also reduces it into its own"
    if rank_order:
        reduces = "←1 b5=recv+own reduces, with the received block on the left; b5=own+recv: on the right"
    nodes = (
        "⇒ and ⇐ are messages between nodes, all others go through the memory of a node; "
        if timeline.tells_nodes
        else ""
    )
    stuck = f"✗→ and ✗← {STUCK_MEANS}; " if timeline.stuck else ""
    sent = "in5" if timeline.names_input else "b5"
    return (
        f"→2 {sent} sends block 5 to rank 2; ←1 b5 receives block 5 from rank 1; {reduces}; {nodes}{stuck}"
        "in5 is block 5 of the input, s0 a block of scratch memory"
    )


def _stands_out(timeline: Timeline, message: Message) -> bool:
    return timeline.tells_nodes and timeline.crosses(message)


def _first_of_nodes(timeline: Timeline) -> set[int]:
    """Returns the lowest rank of each node."""
    return {timeline.node_of.index(node) for node in set(timeline.node_of)}


def _under_node(timeline: Timeline, title: str, node: str = "") -> str:
    return f"{node}\n{title}" if timeline.tells_nodes else title


def _append(cell: Text, words: str, blocks: Blocks) -> None:
    _append_words(cell, words, _COLOURS[blocks.first % len(_COLOURS)])


def _append_words(cell: Text, words: str, style: str) -> None:
    if cell:
        cell.append("\n")
    cell.append(words, style=style)


def _arrival(message: Message, rank_order: bool) -> str:
    into = block_name(message.into)
    if not message.reduces:
        return into
    return f"{into}={operands(message)}" if rank_order else f"+{into}"
