# SPDX-License-Identifier: Apache-2.0
"""Prints results, as tables or as JSON, and shows progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from stretto.support.heartbeat import lines_now_and_then


def print_result(as_json: bool, document: Callable[[], str], show: Callable[[], None]) -> None:
    """Print what a command found: one JSON document, or what `show` prints for people.

    Both print the same result, so every command with a table has the option --json
    (tests/python/cli/test_json_option.py). With it, nothing else may be printed on standard output.
    """
    if as_json:
        print(document(), end="", flush=True)
    else:
        show()


def standard_output() -> Console:
    """The console on standard output, for results only."""
    return Console()


def print_lines(lines: Iterable[str], style: str = "dim", console: Console | None = None) -> None:
    """Print lines of plain text on standard output, each in full length."""
    console = console or standard_output()
    for line in lines:
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def announce(*files: Path | None, as_json: bool = False) -> None:
    """Print which files were written, unless standard output carries a JSON document."""
    for file in files:
        if file and file.is_file() and not as_json:
            print(f"written to {file}")


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
            # Rounded down: only what is done is at 100 %.
            far = f": {int(100 * task.completed / task.total)} %" if task.total else ""
            parts.append(f"{task.description}{far}")
        return "; ".join(parts)


class JobsBar:
    """Shows on a bar which of several jobs runs, and how much of them is done."""

    def __init__(self, bar: Progress, jobs: int) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=jobs)
        self._done = -1

    def next_job(self, name: str) -> Callable[[float, float], None]:
        """Show that a job begins; its steps are reported as the number done and their total."""
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
