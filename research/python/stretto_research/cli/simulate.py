# SPDX-License-Identifier: Apache-2.0
"""`stretto simulate`: Stretto's and the MPI libraries' algorithms in virtual time, on any cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from stretto.bench.files import Outcome, Outputs, run_text
from stretto.bench.options import (
    ElementType,
    InPlace,
    check_call,
    check_picture,
    find_collective,
    parse_specs,
)
from stretto.cli.completion import complete_collective, complete_specs
from stretto.cli.options import Element, Ppn, Root, Skew
from stretto.cli.program import ProgramCommand, program_of
from stretto.cli.result_options import AsJson, ResultFile, picture_file
from stretto.results.runs import summarize
from stretto.spec.collectives import COLLECTIVES
from stretto.support.console import announce, print_result, progress_bar
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_atomically
from stretto.support.units import parse_sizes
from stretto_research.cli.platform_options import FromMachine, PlatformName, Selector
from stretto_research.simulate.jobs import Job, ping_pong, run_jobs
from stretto_research.simulate.output import (
    link_bound,
    ping_pong_json,
    plot_ping_pong,
    print_ping_pong,
    print_run,
    run_of,
)
from stretto_research.simulate.platforms import Platform, find_platform

_PING_PONG = "8B..1GiB:2"


class SimulateCommand(ProgramCommand):
    """A command that takes a `stretto bench` command line after `--`."""

    program_needed = False
    program_usage = "[-- bench COLLECTIVE [OPTIONS]]"


COMMAND_CLASS = SimulateCommand


def simulate(
    context: typer.Context,
    platform: PlatformName = None,
    from_machine: FromMachine = None,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="Number of nodes. Default: 8, or fewer if the platform has fewer."),
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
        Path | None,
        picture_file("the platform's ping-pong, without a command,"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate collectives on a cluster: stretto simulate --platform altec --selector mpich -- bench bcast.

    Without a command, print the time of messages between two nodes of the platform.
    """
    its_platform, its_nodes = find_platform(platform, from_machine, nodes, ppn)
    check_files([xml_file], [png_file])
    if xml_file:
        write_atomically(xml_file, its_platform.xml)
    command = program_of(context)
    if not command:
        seconds = ping_pong(its_platform, parse_sizes(_PING_PONG))
        print_result(
            as_json,
            lambda: ping_pong_json(its_platform, seconds),
            lambda: print_ping_pong(its_platform, seconds),
        )
        if png_file:
            plot_ping_pong(its_platform, seconds, png_file)
        announce(png_file, as_json=as_json)
        return
    if command[0] != "bench":
        raise StrettoError(f"-- {' '.join(command)}: only -- bench COLLECTIVE can be simulated")
    for option, given in (("--png", png_file), ("--json", as_json)):
        if given:
            raise StrettoError(f"{option}: give it to bench, after the --")
    where = Where(its_platform, its_nodes, ppn, selector, arithmetic)
    # Without standalone mode, errors are reported as those of all commands.
    typer.main.get_command(_bench_app).main(
        command[1:], prog_name="stretto simulate -- bench", standalone_mode=False, obj=where
    )


@dataclass(frozen=True, slots=True)
class Where:
    """The cluster that is simulated."""

    platform: Platform
    nodes: int
    ppn: int
    selector: str
    arithmetic: bool


_bench_app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@_bench_app.command()
def bench(
    context: typer.Context,
    collective: Annotated[
        str,
        typer.Argument(
            help=f"What to simulate: {', '.join(COLLECTIVES)}.", autocompletion=complete_collective
        ),
    ],
    specs: Annotated[
        str,
        typer.Option(
            help="Comma-separated list of specs. `native` is the choice of --selector, "
            "'native(rdb)' an algorithm of SMPI, `auto` Stretto's built-in rule.",
            autocompletion=complete_specs,
        ),
    ] = "native,auto",
    sizes: Annotated[str, typer.Option(help="Message sizes, as in stretto bench.")] = "1KiB..1GiB:4",
    skew: Skew = None,
    root: Root = 0,
    in_place: Annotated[InPlace, typer.Option(help="Whether the calls use MPI_IN_PLACE.")] = InPlace.NO,
    element: Element = ElementType.FLOAT,
    as_json: AsJson = False,
    output: ResultFile = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write a line per result into this CSV file.")
    ] = None,
    png_file: Annotated[Path | None, picture_file("throughput over size")] = None,
) -> None:
    """Run `stretto bench` in virtual time."""
    where: Where = context.obj
    what = find_collective(collective)
    check_call(what, root, in_place, skew)
    check_picture(what, png_file)
    outputs = Outputs(output, csv_file, png_file)
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
            skew=skew,
        )
        for spec in parse_specs(specs, what)
    ]
    with progress_bar("simulating") as progress:
        run = run_of(jobs, run_jobs(jobs, progress))
    bound = link_bound(where.platform, run)
    rows = summarize(run, bound)
    outcome = Outcome(run, bound, platform=f"{where.platform.name}: {where.platform.description}")
    text = run_text(outcome, rows)
    print_result(
        as_json,
        lambda: text,
        lambda: print_run(where.platform, run, rows, bound, arithmetic=where.arithmetic),
    )
    outputs.write(outcome, rows, text)
    announce(*outputs.named(), as_json=as_json)
