# SPDX-License-Identifier: Apache-2.0
"""Where tables are printed, and how far something is."""

from __future__ import annotations

from contextlib import ExitStack

from rich.console import Console
from rich.measure import Measurement
from rich.progress import Progress, ProgressColumn
from rich.table import Table

from stretto.support.heartbeat import lines_now_and_then


def console_for(*tables: Table) -> Console:
    """As wide as the terminal; a file or a pipe gets lines of whatever length the tables need."""
    console = Console()
    if not console.is_terminal:
        wide = console.options.update(max_width=1000)
        console.width = max([console.width, *(Measurement.get(console, wide, one).maximum for one in tables)])
    return console


class Bar(Progress):
    """A bar on standard error while its block runs; where that is no terminal, a line now and then.

    Standard output stays clean for the results.
    """

    def __init__(self, *columns: ProgressColumn | str, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._is_seen = console.is_terminal
        self._lines = ExitStack()
        super().__init__(*columns, console=console, transient=True, disable=not self._is_seen)

    def start(self) -> None:
        """Show it."""
        super().start()
        if not self._is_seen:
            self._lines.enter_context(lines_now_and_then(self.line))

    def stop(self) -> None:
        """Take it away."""
        self._lines.close()
        super().stop()

    def line(self) -> str:
        """How far it is: `training: 34 %`."""
        said = []
        for task in self.tasks:
            far = f": {100 * task.completed / task.total:.0f} %" if task.total else ""
            said.append(f"{task.description}{far}")
        return "; ".join(said)
