# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto regret`: a bar while it measures, then a line for each network and one for all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from stretto.spec.labels import NATIVE_LABEL, label_of
from stretto.support.console import Bar, JobsBar, print_lines
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bytes, format_percent, format_seconds, three_digits
from stretto_research.regret.figures import (
    EARLY,
    LEAST_OF_EARLY,
    Job,
    Spot,
    Summary,
    baselines,
    by_baseline,
    summarize,
)
from stretto_research.regret.session import failures


@contextlib.contextmanager
def display(jobs: int) -> Iterator[JobsBar]:
    """A bar for this number of jobs, while the block runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns) as bar:
        yield JobsBar(bar, jobs)


@dataclass(frozen=True)
class _Line:
    """A network, or all networks together."""

    network: str
    """Empty for all networks."""
    found: Summary

    def where(self, spot: Spot) -> str:
        """The call of a spot, with the network if the line is about all of them."""
        network = "" if self.network else f", {spot.job.network}"
        return f"{spot.job.collective} {format_bytes(spot.cell.bytes)}, {spot.job.mpi}{network}"


def print_regret(jobs: Sequence[Job]) -> None:
    """Print a table for MPI libraries, one for jobs without a library, and the notes below them."""
    for some in by_baseline(jobs):
        regret_table(some).print()
    print_lines(notes(jobs))
    print_lines((f"! {remark}" for remark in remarks(jobs)), style="yellow")


def regret_table(jobs: Sequence[Job]) -> ResultTable[_Line]:
    """A line for each network, and one for all. The jobs all have an MPI library, or all have none."""
    baseline = NATIVE_LABEL if jobs[0].has_library else "rule"
    networks = dict.fromkeys(job.network for job in jobs)
    by_network = {name: summarize(job for job in jobs if job.network == name) for name in networks}
    lines = [_Line(name, found) for name, found in by_network.items() if found]
    whole = summarize(jobs)
    if whole and len(networks) > 1:
        lines.append(_Line("", whole))
    return ResultTable(
        [
            Column("network", lambda line: line.network or "all", left=True, is_key=True),
            Column("calls", lambda line: str(len(line.found.spots)), detail=1),
            Column(f"{baseline}:\nmean regret", lambda line: _percent(line.found.baseline_regret)),
            Column("Stretto:\nmean regret", lambda line: _percent(line.found.regret)),
            Column("worst\nregret", lambda line: _percent(line.found.worst.cell.regret())),
            Column("where", _worst, left=True, wraps=True, is_key=True, detail=2),
            Column("first job:\n10, 30, 100 calls", lambda line: _early(line.found, second=False), detail=4),
            Column("second job:\n10, 30, 100 calls", lambda line: _early(line.found, second=True), detail=4),
            Column("mean\ngain", lambda line: three_digits(line.found.gain)),
            Column("least gain\n(95 %)", lambda line: line.found.slowest.cell.gain.text(), detail=1),
            Column("at", _slowest, left=True, wraps=True, is_key=True, detail=3),
            Column("slower", lambda line: str(len(line.found.slower))),
        ],
        lines,
        section=lambda line: line.network == "",
        style=lambda line: "" if line.network else "bold",
    )


def _worst(line: _Line) -> str:
    worst = line.found.worst
    return f"{line.where(worst)}; best: {label_of(worst.cell.best)}"


def _slowest(line: _Line) -> str:
    return line.where(line.found.slowest)


def _early(found: Summary, *, second: bool) -> str:
    known = [found.early_regret(calls, second=second) for calls in EARLY]
    if all(one is None for one in known):
        return ""
    return ", ".join("-" if one is None else f"{100 * one + 0.0:.0f}" for one in known) + " %"


def _percent(part: float) -> str:
    return format_percent(part, 1 if part < 1 else 0)


def notes(jobs: Sequence[Job]) -> Iterator[str]:
    """Yields the notes below the table."""
    yield (
        "regret: how much longer a call takes than by the best spec that was tried (the best of several, so "
        f"a little lucky); gain: times faster than {baselines(jobs)}, in pairs within one job; mean gain: "
        "geometric"
    )
    yield (
        "first, second job: regret of all first calls of a size together, finding out included, where one "
        f"takes {format_seconds(LEAST_OF_EARLY)} or more; the second job knows what the first one has found"
    )
    yield "slower: calls that Stretto makes slower by 3 % or more, beyond the interval"
    for job in jobs:
        if job.left_out:
            sizes = ", ".join(map(format_bytes, job.left_out))
            yield f"{job.title}: --max-seconds is too short for {sizes}"


def remarks(jobs: Sequence[Job]) -> list[str]:
    """Remarks that a reader must know before believing the figures."""
    found = [
        f"{job.title}: {'not all' if job.cells else 'nothing'} was measured: {job.error}"
        for job in failures(jobs)
    ]
    busy = [job for job in jobs if job.load.get("busy")]
    if busy:
        found.append(f"busy machine: others ran during {len(busy)} of {len(jobs)} jobs ({busy[0].title})")
    return found
