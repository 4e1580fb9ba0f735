# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto simulate`: tables, documents and plots of the jobs' results."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from stretto import _core
from stretto.bench.table import notes, results_table
from stretto.plots.runs import plot_predictions
from stretto.results.runs import Row, Run, Series
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.support.console import print_lines
from stretto.support.json_files import document_text
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bandwidth, format_bytes, format_seconds
from stretto_research.simulate.jobs import LABELS, Job, Point
from stretto_research.simulate.platforms import Platform


def run_of(jobs: Sequence[Job], results: Sequence[Sequence[Point]]) -> Run:
    """Returns the results in the form of a measured run, so that tables, files and plots are the same."""
    job = jobs[0]
    series = [
        Series(
            point.bytes,
            point.in_place,
            one.spec,
            point.chosen,
            1,
            [point.seconds],
            point.correct is not False,
        )
        for one, points in zip(jobs, results, strict=True)
        for point in points
    ]
    order = [one.spec for one in jobs]
    return Run(
        collective=COLLECTIVES[job.collective],
        root=job.root,
        library=f"SMPI as {LABELS[job.selector]}",
        stretto=_core.version(),
        ranks=job.ranks,
        nodes=job.nodes,
        ppn=[job.ppn] * job.nodes,
        type=job.type,
        series=sorted(series, key=lambda one: (one.bytes, one.in_place, order.index(one.spec))),
        virtual=True,
        skew=job.skew,
    )


def link_bound(platform: Platform, run: Run) -> LinkBound | None:
    """Returns the bound by the nodes' links, as a ping-pong measures them; None for a user's XML file."""
    machine = platform.machine
    if machine is None or run.nodes < 2 or not machine.node_bandwidth or run.has_no_bound:
        return None
    return LinkBound(machine.node_bandwidth, run.collective, run.ppn, with_headers=False)


def print_run(
    platform: Platform, run: Run, rows: Sequence[Row], bound: LinkBound | None, *, arithmetic: bool
) -> None:
    """Print the table of `stretto bench`, and notes on what a simulation leaves out."""
    results_table(rows).print()
    lines = [
        f"platform {platform.name}: {platform.description}",
        *notes(run, bound, emulated=True),
    ]
    if not arithmetic:
        lines.append("reductions take no time")
    if any(not series.correct for series in run.series):
        lines.append("red: SMPI's own algorithm gives a wrong result there; its time is shown all the same")
    print_lines(lines)


def print_ping_pong(platform: Platform, seconds: Mapping[int, float]) -> None:
    """Print the times of messages between two nodes, by size."""
    ResultTable(
        [
            Column("message", lambda row: format_bytes(row[0]), is_key=True),
            Column("time", lambda row: format_seconds(row[1])),
            Column("MB/s", lambda row: format_bandwidth(row[0] / row[1])),
        ],
        list(seconds.items()),
    ).print()
    line = (
        f"platform {platform.name}: {platform.description}, {len(platform.hosts)} nodes; time: half a "
        "ping-pong between two nodes"
    )
    print_lines([line])


def ping_pong_json(platform: Platform, seconds: Mapping[int, float]) -> str:
    """Returns the document with the times of messages between two nodes."""
    rows = [{"bytes": size, "seconds": time, "bandwidth": size / time} for size, time in seconds.items()]
    content = {"nodes": len(platform.hosts), "results": rows}
    where = f"{platform.name}: {platform.description}"
    return document_text("stretto-ping-pong", sys.argv, where, content)


def plot_ping_pong(platform: Platform, seconds: Mapping[int, float], file: Path) -> None:
    """Draw the bandwidth of messages between two nodes, by size."""
    lines = {platform.name: [(size, size / time) for size, time in seconds.items()]}
    plot_predictions(f"ping-pong on {platform.name}, simulated", lines, [], file)
