# SPDX-License-Identifier: Apache-2.0
"""Prints a training: a table, and notes on how to read it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.support.console import console_for, print_lines
from stretto.support.estimates import Estimate
from stretto.support.units import format_rate, format_seconds, three_digits
from stretto.training.result import Training


def print_training(training: Training) -> None:
    """Print the table and the notes."""
    shown = table(training)
    console = console_for(shown)
    console.print(shown)
    print_lines(console, notes(training))


def _interval(estimate: Estimate) -> str:
    return f"({three_digits(estimate.low)}–{three_digits(estimate.high)})"  # noqa: RUF001  as in all tables


def table(training: Training) -> Table:
    """A row for each spec."""
    title = f"{training.model}, {training.data}, batch {training.batch} on each of {training.ranks} ranks"
    result = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        header_style="bold",
        pad_edge=False,
    )
    result.add_column("allreduce")
    result.add_column("spec")
    for name in ("images/s", "", "step", "communication", "speedup", ""):
        result.add_column(name, justify="right", no_wrap=True)
    for line in training.lines:
        rate, gain, share = (
            training.images_per_second(line),
            training.gain(line),
            training.communication_share(line),
        )
        result.add_row(
            line.label,
            line.spec if line.spec != line.label else "",
            three_digits(rate.median),
            _interval(rate),
            format_seconds(training.batch * training.ranks / rate.median),
            f"{100 * share:.0f} %" if share is not None else "",
            f"{gain.median:.2f}" if gain else "",
            f"({gain.low:.2f}–{gain.high:.2f})" if gain else "",  # noqa: RUF001
        )
    return result


def notes(training: Training) -> Iterator[str]:
    """What a reader must know to understand the table."""
    if training.incomplete:
        yield f"! {training.incomplete}"
    for line in training.load.remarks() if training.load else []:
        yield f"! {line}"
    rounds = len(training.lines[0].rounds)
    coverage = training.images_per_second(training.lines[0]).coverage
    where = f"{training.ranks} ranks" + (f" on {training.nodes} nodes" if training.nodes > 1 else "")
    links = f", links of {format_rate(training.rate)}" if training.rate else ""
    yield f"{training.about}, {training.mpi}, {where}{links}; {training.parameters:,} parameters"
    how = f"medians of {rounds} alternating rounds, with {100 * coverage:.0f} % confidence intervals"
    pairs = "speedup over the MPI default, in pairs of the same round"
    yield f"{how}; {pairs}" if rounds > 1 else f"one round, so there are no confidence intervals; {pairs}"
    if training.compute_seconds is not None:
        yield (
            f"a step without communication takes {format_seconds(training.compute_seconds)} while all ranks "
            "compute; communication: the rest of a step"
        )
    if training.losses:
        yield f"loss of rank 0's images: {training.losses[0][1]:.4g} first, {training.losses[-1][1]:.4g} last"
