# SPDX-License-Identifier: Apache-2.0
"""What `stretto regret` prints: a bar while it measures, then a line for each network and one for all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from stretto.regret.figures import (
    EARLY,
    LEAST_OF_EARLY,
    Job,
    Spot,
    Summary,
    baselines,
    by_baseline,
    summarize,
)
from stretto.regret.session import failures
from stretto.spec.labels import NATIVE_LABEL, label_of
from stretto.support.console import Bar, JobsBar, console_for, print_lines
from stretto.support.units import format_bytes, format_seconds, three_digits

_COLUMNS = (
    "network", "calls", "{baseline}:\nmean regret", "Stretto:\nmean regret", "worst\nregret", "where",
    "first job:\n10, 30, 100 calls", "second job:\n10, 30, 100 calls",
    "mean\ngain", "least gain\n(95 %)", "where", "slower",
)  # fmt: skip
_TEXTS = ("network", "where")


@contextlib.contextmanager
def display(jobs: int) -> Iterator[JobsBar]:
    """A bar of so many jobs, while the block runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns) as bar:
        yield JobsBar(bar, jobs)


def print_regret(jobs: Sequence[Job]) -> None:
    """Print a table for MPI libraries, one for jobs without, and the notes below them."""
    tables = [regret_table(some) for some in by_baseline(jobs)]
    console = console_for(*tables)
    for table in tables:
        console.print(table)
    print_lines(console, notes(jobs))
    print_lines(console, (f"! {remark}" for remark in remarks(jobs)), style="yellow")


def regret_table(jobs: Sequence[Job]) -> Table:
    """A line for each network, and one for all. The jobs all have an MPI library, or all have none."""
    baseline = NATIVE_LABEL if jobs[0].has_library else "rule"
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for title in _COLUMNS:
        heading = title.format(baseline=baseline)
        table.add_column(heading, justify="left" if title in _TEXTS else "right", overflow="fold")
    networks = list(dict.fromkeys(job.network for job in jobs))
    for network in networks:
        if found := summarize(job for job in jobs if job.network == network):
            table.add_row(network, *_cells(found, with_network=False))
    whole = summarize(jobs)
    if whole and len(networks) > 1:
        table.add_section()
        table.add_row("all", *_cells(whole, with_network=True), style="bold")
    return table


def _cells(found: Summary, *, with_network: bool) -> list[str]:
    gain = found.slowest.cell.gain
    return [
        str(len(found.spots)),
        _percent(found.baseline_regret),
        _percent(found.regret),
        _percent(found.worst.cell.regret()),
        f"{_where(found.worst, with_network)}; best: {label_of(found.worst.cell.best)}",
        *(_early(found, second=second) for second in (False, True)),
        three_digits(found.gain),
        f"{three_digits(gain.median)} ({three_digits(gain.low)}-{three_digits(gain.high)})",
        _where(found.slowest, with_network),
        str(len(found.slower)),
    ]


def _early(found: Summary, *, second: bool) -> str:
    known = [found.early_regret(calls, second=second) for calls in EARLY]
    return ", ".join("-" if one is None else f"{100 * one:.0f}" for one in known) + " %"


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %" if part < 1 else f"{100 * part:.0f} %"


def _where(spot: Spot, with_network: bool) -> str:
    network = f", {spot.job.network}" if with_network else ""
    return f"{spot.job.collective} {format_bytes(spot.cell.bytes)}, {spot.job.mpi}{network}"


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
    """What a reader must know before believing the figures."""
    found = [
        f"{job.title}: {'not all' if job.cells else 'nothing'} was measured: {job.error}"
        for job in failures(jobs)
    ]
    busy = [job for job in jobs if job.load.get("busy")]
    if busy:
        found.append(f"busy machine: others ran during {len(busy)} of {len(jobs)} jobs ({busy[0].title})")
    return found
