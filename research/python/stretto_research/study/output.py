# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto study`: a bar while it measures, then tables and notes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from rich.progress import BarColumn, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text

from stretto.studies.file import Study
from stretto.support.console import Bar, JobsBar, print_lines
from stretto_research.study import guidelines_table, table
from stretto_research.study.guidelines_file import Guidelines
from stretto_research.study.runs import Clock


class _TimeLeft(ProgressColumn):
    """The budget that is left, which is an upper bound of the time that the study still takes."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def render(self, task: Task) -> Text:
        """Returns a text such as `at most 1:05 left`, by the clock of the whole study."""
        del task
        minutes, seconds = divmod(round(max(0.0, self._clock.left)), 60)
        return Text(f"at most {minutes}:{seconds:02d} left")


@contextlib.contextmanager
def display(clock: Clock, jobs: int) -> Iterator[JobsBar]:
    """Shows a bar with the time left, while the block runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), _TimeLeft(clock))
    with Bar(*columns) as bar:
        yield JobsBar(bar, jobs)


def print_study(found: Study) -> None:
    """Print the gains of each library, and the ranks of the libraries if there are several."""
    for run in found.runs:
        if run.sizes:
            table.gains_table(run).print()
    if len(found.runs) > 1:
        table.ranking_table(found.runs).print()
    print_lines(table.notes(found))


def print_guidelines(found: Guidelines, failures: Iterable[str]) -> None:
    """Print the guidelines of each library, and the failures."""
    for library in found.libraries:
        for one in guidelines_table.tables(library):
            one.print()
    print_lines([*guidelines_table.notes(found), *failures])
