# SPDX-License-Identifier: Apache-2.0
"""Prints a diagram as text."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement

from stretto.show.diagram import Diagram
from stretto.show.drawing import draw_text, text_legend


def print_diagram(diagram: Diagram, rank_order: bool) -> None:
    """Print title, steps, caption and legend; lines are never wrapped."""
    console = Console()
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
