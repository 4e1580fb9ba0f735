# SPDX-License-Identifier: Apache-2.0
"""`stretto regret`: how far Stretto's default is from the best, on many networks and MPI libraries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.completion import complete_collectives, complete_mpis
from stretto.cli.result_options import AsJson, picture_file
from stretto.spec.recipes import check_sized, sized_collectives
from stretto.support.console import announce, print_result
from stretto.support.errors import StrettoError
from stretto.support.files import check_files
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.units import parse_sizes
from stretto_research.regret import networks
from stretto_research.regret.file import regret_text
from stretto_research.regret.libraries import find_libraries
from stretto_research.regret.map import Panels, draw_map
from stretto_research.regret.measure import LEAST_REPETITIONS, LEAST_WARMUP, Plan
from stretto_research.regret.output import display, print_regret
from stretto_research.regret.session import Wanted, failures, measure_all, open_record
from stretto_research.regret.specs import Tables

_NETWORKS = ", ".join(one.name for one in networks.BUILT_IN)


def regret(
    network_names: Annotated[
        str,
        typer.Option(
            "--networks",
            metavar="NAMES",
            autocompletion=complete_mpis,
            help="Comma-separated list: NODESxRATE, NODESxRANKSxRATE, 1xRANKS for this machine; + between "
            f"unequal nodes; /RACKSxUPLINK. all means {_NETWORKS}.",
        ),
    ] = networks.ALL,
    mpi_names: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            metavar="NAMES",
            help="Comma-separated list of openmpi, openmpi5, mpich, mpich5:ucx, mpich5:ofi, intelmpi; "
            "sockets: no MPI. Default: all libraries that are installed.",
            show_default=False,
        ),
    ] = None,
    collectives: Annotated[
        str,
        typer.Option(
            help=f"Comma-separated list of {', '.join(sized_collectives())}.",
            autocompletion=complete_collectives,
        ),
    ] = "allreduce,bcast,reduce,reduce_scatter,allgather",
    sizes: Annotated[str, typer.Option(help="Message sizes, as in stretto bench.")] = "1KiB..16MiB:4",
    tables: Annotated[
        list[Path] | None,
        typer.Option("--table", help="A tuning table whose choices are tried, too. May be repeated."),
    ] = None,
    repetitions: Annotated[
        int, typer.Option(min=LEAST_REPETITIONS, help="Samples of each spec; a sample is a row of calls.")
    ] = 9,
    warmup: Annotated[
        int,
        typer.Option(
            min=1,
            help="Calls of Stretto's default at each size before it is measured. "
            f"After 10 s, {LEAST_WARMUP} are enough.",
        ),
    ] = 100,
    max_seconds: Annotated[
        float,
        typer.Option(min=1, help="Maximum seconds for the sizes of one job; larger sizes are left out."),
    ] = 900.0,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Continue from the file of --output, or start anew.")
    ] = True,
    as_json: AsJson = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Keep the JSON document of --json here, after each job."
        ),
    ] = None,
    png_file: Annotated[
        Path | None,
        picture_file("a map of networks by sizes, coloured by gain,"),
    ] = None,
    panels: Annotated[
        Panels, typer.Option(help="What each panel of the map is for; its cells are means over the rest.")
    ] = Panels.COLLECTIVE,
) -> None:
    """Compare Stretto's default with the MPI default and the best known spec, on many networks in turn.

    Without MPI (sockets), the built-in rule takes the place of the MPI default.
    """
    check_files([output], [png_file])
    named = list(dict.fromkeys(check_sized(one.strip()) for one in collectives.split(",")))
    plan = Plan(parse_sizes(sizes), repetitions, warmup, max_seconds, Tables(tables or []))
    request = {
        "sizes": list(plan.sizes),
        "repetitions": repetitions,
        "warmup": warmup,
        "tables": [str(one) for one in tables or []],
    }
    wanted = Wanted(networks.parse_networks(network_names), find_libraries(mpi_names), named)
    record = open_record(output, request, resume=resume)
    try:
        with display(len(record.missing(wanted))) as bar:
            measure_all(record, wanted, plan, bar)
    except INTERRUPTIONS as ended:
        kept = f"{output} has what was measured so far" if output else "nothing was kept (give --output)"
        print(f"stretto: {signal_of(ended).name} ended it early: {kept}", file=sys.stderr)
        raise
    jobs = record.of(wanted)
    if not any(job.cells for job in jobs):
        raise StrettoError("; ".join(f"{job.title}: {job.error}" for job in jobs))
    print_result(as_json, lambda: regret_text(jobs, request, sys.argv), lambda: print_regret(jobs))
    if png_file:
        draw_map(jobs, panels, png_file)
    announce(output, png_file, as_json=as_json)
    if failures(jobs):
        raise typer.Exit(1)
