# SPDX-License-Identifier: Apache-2.0
"""What `stretto study` prints: a bar while it measures, then tables and notes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from stretto.study import guidelines_table, table
from stretto.study.file import Study
from stretto.study.guidelines_file import Guidelines
from stretto.study.runs import Clock, Report
from stretto.support.console import Bar, console_for, print_lines


class _TimeLeft(ProgressColumn):
    """The budget that is left: an upper bound of the time that the study still takes."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def render(self, task: Task) -> Text:
        """`at most 1:05 left`, by the clock of the whole study."""
        del task
        minutes, seconds = divmod(round(max(0.0, self._clock.left)), 60)
        return Text(f"at most {minutes}:{seconds:02d} left")


class ProgressDisplay:
    """A bar on standard error, so that standard output has the tables only."""

    def __init__(self, bar: Progress, jobs: int) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=jobs)
        self._done = -1

    def next_job(self, name: str) -> Report:
        """Show that a job begins; its steps are reported as how many are done, of how many."""
        self._done += 1
        done = self._done
        self._bar.update(self._task, description=name, completed=done)
        return lambda part, total: self._bar.update(self._task, completed=done + part / max(total, 1e-9))


@contextlib.contextmanager
def display(clock: Clock, jobs: int) -> Iterator[ProgressDisplay]:
    """A bar with the time left, while the block runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), _TimeLeft(clock))
    with Bar(*columns) as bar:
        yield ProgressDisplay(bar, jobs)


def print_study(found: Study) -> None:
    """Print the gains of each library, and the libraries ranked if there are several."""
    tables = [table.gains_table(run) for run in found.runs if run.sizes]
    if len(found.runs) > 1:
        tables.append(table.ranking_table(found.runs))
    _print(tables, table.notes(found))


def print_guidelines(found: Guidelines, failures: Iterable[str]) -> None:
    """Print the guidelines of each library, and what could not be measured."""
    tables = [one for library in found.libraries for one in guidelines_table.tables(library)]
    _print(tables, [*guidelines_table.notes(found), *failures])


def _print(tables: Sequence[Table], lines: Iterable[str]) -> None:
    console = console_for(*tables)
    for one in tables:
        console.print(one)
    print_lines(console, lines)
