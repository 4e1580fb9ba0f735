# SPDX-License-Identifier: Apache-2.0
"""Prints results, as tables or as JSON, and shows progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from stretto.support.heartbeat import lines_now_and_then


def print_result(as_json: bool, document: Callable[[], str], show: Callable[[], None]) -> None:
    """Print what a command found: one JSON document, or what `show` prints for people.

    The two are the ways to print the same result, so every command with a table has the option --json
    (tests/python/cli/test_json_option.py). With it, nothing else may be printed on standard output.
    """
    if as_json:
        print(document(), end="", flush=True)
    else:
        show()


def console_for(*tables: Table) -> Console:
    """A console as wide as the terminal or, in a file or a pipe, as wide as the tables need.

    The only console on standard output, and only for `show` of print_result.
    """
    console = Console()
    if not console.is_terminal:
        wide = console.options.update(max_width=1000)
        console.width = max([console.width, *(Measurement.get(console, wide, one).maximum for one in tables)])
    return console


def print_lines(lines: Iterable[str], style: str = "dim", console: Console | None = None) -> None:
    """Print lines of plain text on standard output, each in full length."""
    console = console or Console()
    for line in lines:
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


class Bar(Progress):
    """A progress bar on standard error, or a line now and then if that is no terminal.

    Standard output carries results only.
    """

    def __init__(self, *columns: ProgressColumn | str, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._is_seen = console.is_terminal
        self._lines = ExitStack()
        super().__init__(*columns, console=console, transient=True, disable=not self._is_seen)

    def start(self) -> None:
        """Begin to show progress."""
        super().start()
        if not self._is_seen:
            self._lines.enter_context(lines_now_and_then(self.line))

    def stop(self) -> None:
        """Remove the bar."""
        self._lines.close()
        super().stop()

    def line(self) -> str:
        """The progress in words: `training: 34 %`."""
        parts = []
        for task in self.tasks:
            far = f": {100 * task.completed / task.total:.0f} %" if task.total else ""
            parts.append(f"{task.description}{far}")
        return "; ".join(parts)


class JobsBar:
    """Shows on a bar which of several jobs runs, and how much of them is done."""

    def __init__(self, bar: Progress, jobs: int) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=jobs)
        self._done = -1

    def next_job(self, name: str) -> Callable[[float, float], None]:
        """Show that a job begins; its steps are reported as how many are done, of how many."""
        self._done += 1
        done = self._done
        self._bar.update(self._task, description=name, completed=done)
        return lambda part, total: self._bar.update(self._task, completed=done + part / max(total, 1e-9))


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float, float], None]]:
    """Show a bar while the block runs. The block gets a function of what is done and the total."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
