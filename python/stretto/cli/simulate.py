# SPDX-License-Identifier: Apache-2.0
"""`stretto simulate`: the engine and the libraries' algorithms in virtual time, on any cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto import _core
from stretto.bench.files import Outcome, Outputs
from stretto.bench.options import ElementType, InPlace, check_call, find_collective, parse_specs
from stretto.bench.table import notes, results_table
from stretto.cli.options import Element, Ppn, Root
from stretto.cli.platform_options import FromMachine, PlatformName, Selector
from stretto.cli.program import ProgramCommand, program_of
from stretto.plots import runs as plots
from stretto.results.runs import Run, Series, summarize
from stretto.simulate.jobs import LABELS, Job, Point, ping_pong
from stretto.simulate.jobs import simulate as run_jobs
from stretto.simulate.platforms import (
    Platform,
    find_platform,
)
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.support.console import console_for, progress_bar
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_atomically
from stretto.support.units import format_bandwidth, format_bytes, format_seconds, parse_sizes

_PING_PONG = "8B..1GiB:2"


class SimulateCommand(ProgramCommand):
    """What is to be simulated stands after `--`, as a command line of `stretto bench`."""

    program_needed = False
    program_usage = "[-- bench COLLECTIVE [OPTIONS]]"


def simulate(
    context: typer.Context,
    platform: PlatformName = None,
    from_machine: FromMachine = None,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="Number of nodes: 8, or as many as the platform has, unless given."),
    ] = None,
    ppn: Ppn = 1,
    selector: Selector = "openmpi",
    arithmetic: Annotated[
        bool, typer.Option("--arithmetic/--no-arithmetic", help="Whether reductions take time.")
    ] = True,
    xml_file: Annotated[
        Path | None, typer.Option("--xml", help="Write the platform as SimGrid's XML.")
    ] = None,
    png_file: Annotated[
        Path | None, typer.Option("--png", help="Without a command: draw the platform's ping-pong.")
    ] = None,
) -> None:
    """Simulate: stretto simulate --platform altec --selector mpich -- bench allreduce --specs native,auto.

    Without a command it says what messages between two nodes of the platform take.
    """
    its_platform, its_nodes = find_platform(platform, from_machine, nodes, ppn)
    check_files([xml_file], [png_file])
    if xml_file:
        write_atomically(xml_file, its_platform.xml)
    command = program_of(context)
    if not command:
        _show_platform(its_platform, png_file)
        return
    if command[0] != "bench":
        raise StrettoError(f"-- {' '.join(command)}: what can be simulated is -- bench COLLECTIVE")
    if png_file:
        raise StrettoError("--png: give it to bench, after the --")
    where = Where(its_platform, its_nodes, ppn, selector, arithmetic)
    # Errors come out as those of all our commands.
    typer.main.get_command(_bench_app).main(
        command[1:], prog_name="stretto simulate -- bench", standalone_mode=False, obj=where
    )


@dataclass(frozen=True, slots=True)
class Where:
    """What is simulated, beside the calls."""

    platform: Platform
    nodes: int
    ppn: int
    selector: str
    arithmetic: bool


_bench_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@_bench_app.command()
def bench(
    context: typer.Context,
    collective: Annotated[str, typer.Argument(help=f"What to simulate: {', '.join(COLLECTIVES)}.")],
    specs: Annotated[
        str,
        typer.Option(
            help="Ways to carry it out, with commas between. `native` is what --selector says, 'native(rdb)' "
            "an algorithm of SMPI, `auto` Stretto's built-in rule."
        ),
    ] = "native,auto",
    sizes: Annotated[str, typer.Option(help="Message sizes, as in stretto bench.")] = "1KiB..1GiB:4",
    root: Root = 0,
    in_place: Annotated[InPlace, typer.Option(help="Calls with MPI_IN_PLACE.")] = InPlace.NO,
    element: Element = ElementType.FLOAT,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write times and figures here.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write a line per result here.")] = None,
    png_file: Annotated[Path | None, typer.Option("--png", help="Draw throughput over size here.")] = None,
) -> None:
    """As `stretto bench`, in virtual time."""
    where: Where = context.obj
    what = find_collective(collective)
    check_call(what, root, in_place)
    outputs = Outputs(json_file, csv_file, png_file)
    jobs = [
        Job(
            where.platform,
            where.nodes,
            spec,
            tuple(parse_sizes(sizes)),
            where.ppn,
            what.name,
            where.selector,
            in_place.value,
            root,
            element.value,
            where.arithmetic,
        )
        for spec in parse_specs(specs, what)
    ]
    with progress_bar("simulating") as progress:
        run = _run_of(jobs, run_jobs(jobs, progress))
    bound = _link_bound(where, run)
    rows = summarize(run, bound)
    table = results_table(rows)
    console = console_for(table)
    console.print(table)
    wrong = any(not series.correct for series in run.series)
    lines = [
        f"platform {where.platform.name}: {where.platform.description}",
        *notes(run, bound, emulated=True),
        *([] if where.arithmetic else ["reductions take no time"]),
        *(
            ["red: SMPI's own algorithm gives a wrong result there; its time is shown all the same"]
            if wrong
            else []
        ),
    ]
    for line in lines:
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
    outputs.write(Outcome(run, bound), rows)


def _run_of(jobs: list[Job], results: list[list[Point]]) -> Run:
    """As if it had been measured, so that all that reads such files reads this one."""
    job = jobs[0]
    run = Run(
        collective=COLLECTIVES[job.collective],
        root=job.root,
        library=f"SMPI as {LABELS[job.selector]}",
        stretto=_core.version(),
        ranks=job.ranks,
        nodes=job.nodes,
        ppn=[job.ppn] * job.nodes,
        type=job.type,
        virtual=True,
    )
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
    run.series = sorted(series, key=lambda one: (one.bytes, one.in_place, order.index(one.spec)))
    return run


def _link_bound(where: Where, run: Run) -> LinkBound | None:
    """By what ping-pong finds; of a platform of others nobody knows it."""
    machine = where.platform.machine
    if machine is None or run.nodes < 2 or not machine.node_bandwidth:
        return None
    return LinkBound(machine.node_bandwidth, run.collective, run.ppn, with_headers=False)


def _show_platform(platform: Platform, png_file: Path | None) -> None:
    sizes = parse_sizes(_PING_PONG)
    seconds = ping_pong(platform, sizes)
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for title in ("message", "time", "MB/s"):
        table.add_column(title, justify="right")
    for size in sizes:
        table.add_row(
            format_bytes(size), format_seconds(seconds[size]), format_bandwidth(size / seconds[size])
        )
    console = console_for(table)
    console.print(table)
    console.print(
        f"platform {platform.name}: {platform.description}, {len(platform.hosts)} nodes; half of a ping-pong "
        "between two of them",
        style="dim",
        soft_wrap=True,
    )
    if png_file:
        lines = {platform.name: [(size, size / seconds[size]) for size in sizes]}
        plots.plot_predictions(f"ping-pong on {platform.name}, simulated", lines, [], png_file)
