# SPDX-License-Identifier: Apache-2.0
"""Prints a training: a table, and notes on how to read it."""

from __future__ import annotations

from collections.abc import Iterator

from stretto.support.console import print_lines
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_count, format_percent, format_place, format_rate, format_seconds
from stretto_research.training.result import Line, Training


def print_training(training: Training) -> None:
    """Print the table and the notes."""
    table(training).print()
    print_lines(notes(training))


def table(training: Training) -> ResultTable[Line]:
    """Returns a table with a row for each spec."""
    images = training.batch * training.ranks
    ranks = format_count(training.ranks, "rank")

    def share(line: Line) -> str:
        part = training.communication_share(line)
        return "" if part is None else format_percent(part)

    def gain(line: Line) -> str:
        estimate = training.gain(line)
        return estimate.text() if estimate else ""

    def step(line: Line) -> str:
        return format_seconds(images / training.images_per_second(line).median)

    return ResultTable(
        [
            Column("allreduce", lambda line: line.label, left=True, is_key=True),
            Column("spec", lambda line: line.spec if line.spec != line.label else "", left=True, is_key=True),
            Column("images/s (95 %)", lambda line: training.images_per_second(line).text()),
            Column("step", step, detail=2),
            Column("communication", share, detail=1),
            Column("speedup (95 %)", gain),
        ],
        training.lines,
        title=f"{training.model}, {training.data}, batch {training.batch} on each of {ranks}",
    )


def notes(training: Training) -> Iterator[str]:
    """Yields lines with what a reader must know to understand the table."""
    if training.incomplete:
        yield f"! {training.incomplete}"
    for line in training.load.remarks() if training.load else []:
        yield f"! {line}"
    rounds = len(training.lines[0].rounds)
    coverage = training.images_per_second(training.lines[0]).coverage
    where = format_place(training.ranks, training.nodes)
    links = f", links of {format_rate(training.rate)}" if training.rate else ""
    yield f"{training.about}, {training.mpi}, {where}{links}; {training.parameters:,} parameters"
    how = f"medians of {rounds} alternating rounds, with {format_percent(coverage)} confidence intervals"
    pairs = "speedup over the MPI default, in pairs of the same round"
    yield f"{how}; {pairs}" if rounds > 1 else f"one round, so there are no confidence intervals; {pairs}"
    if training.compute_seconds is not None:
        yield (
            f"a step without communication takes {format_seconds(training.compute_seconds)} while all ranks "
            "compute; communication: the rest of a step"
        )
    if training.losses:
        yield f"loss of rank 0's images: {training.losses[0][1]:.4g} first, {training.losses[-1][1]:.4g} last"
