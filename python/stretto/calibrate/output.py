# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto calibrate`: a bar while it measures, then the figures of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from stretto.calibrate.session import Calibrated, Progress
from stretto.calibrate.table import figure_table, protocol_table
from stretto.support.console import Bar, print_lines


@contextmanager
def display_progress() -> Iterator[Progress]:
    """A bar on standard error with the time left, while the block runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns) as bar:
        task = bar.add_task("calibrating", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_machine(calibrated: Calibrated, output: Path) -> None:
    """Print the figures with their errors, the remarks, and where the machine file is."""
    machine = calibrated.machine
    print_lines([f"{machine.name}: {machine.description}"], style="bold")
    protocol_table(calibrated.found).print()
    figure_table(calibrated.found).print()
    print_lines((f"! {remark}" for remark in calibrated.remarks), style="yellow")
    print_lines([f"written to {output}"])
