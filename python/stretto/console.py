# SPDX-License-Identifier: Apache-2.0
"""Where tables are printed."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def console_for(*tables: Table) -> Console:
    """As wide as the terminal; a file or a pipe gets lines of whatever length the tables need."""
    console = Console()
    if not console.is_terminal:
        wide = console.options.update(max_width=1000)
        console.width = max([console.width, *(Measurement.get(console, wide, one).maximum for one in tables)])
    return console
