# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.bench.comparison import compare
from stretto.bench.files import Outputs
from stretto.bench.options import ElementType, InPlace, check_picture, find_collective, sizes_text
from stretto.bench.request import Request
from stretto.bench.targets import Place
from stretto.cli.completion import complete_collective, complete_specs
from stretto.cli.options import (
    Element,
    LabName,
    LabPpn,
    LauncherLine,
    LinkRate,
    MpiName,
    OnLab,
    Provider,
    Ranks,
    Root,
    Seed,
    Skew,
)
from stretto.cli.result_options import AsJson, ResultFile, picture_file
from stretto.lab.cluster import DEFAULT_NAME
from stretto.spec.collectives import COLLECTIVES
from stretto.support.units import parse_rate, parse_seconds, parse_sizes


def bench(
    collective: Annotated[
        str,
        typer.Argument(help=f"The collective: {', '.join(COLLECTIVES)}.", autocompletion=complete_collective),
    ],
    launch: LauncherLine = None,
    specs: Annotated[
        str,
        typer.Option(
            help="Specs with commas between: 'native,auto,smp(ring):segments=4'. native is the MPI default, "
            "'native(ring)' the MPI library's own algorithm of that name. Default: native,auto; with "
            "--mpi sockets, auto and the short list.",
            show_default=False,
            autocompletion=complete_specs,
        ),
    ] = "",
    forms: Annotated[
        str,
        typer.Option(
            help="How each spec is called, with commas between: blocking, non-blocking (start and MPI_Wait), "
            "persistent (MPI_Start and MPI_Wait). Default: blocking; with --overlap, non-blocking.",
            show_default=False,
        ),
    ] = "",
    overlap: Annotated[
        bool, typer.Option("--overlap", help="Measure how much of a call is hidden behind computation.")
    ] = False,
    test_every: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --overlap, the time between calls of MPI_Test: 1ms"),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Message sizes: 64KiB,1MB, or powers of two 1KiB..64MiB, or powers of four 1KiB..1GiB:4. "
            "The size is a rank's input in reduce_scatter and alltoall, a rank's output in allgather, "
            "and the root's buffer in gather and scatter. A barrier has no size. Default: 1KiB..16MiB:4.",
            show_default=False,
        ),
    ] = None,
    min_bytes: Annotated[
        str | None,
        typer.Option(
            "--min-bytes",
            "-b",
            metavar="SIZE",
            help="As in nccl-tests, in place of --sizes: the least size, such as 8 or 64K (64 KiB).",
        ),
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(
            "--max-bytes", "-e", metavar="SIZE", help="The largest size: 128M. Default: that of -b."
        ),
    ] = None,
    step_factor: Annotated[
        int | None,
        typer.Option("--step-factor", "-f", min=2, help="The factor between two sizes. Default: 2."),
    ] = None,
    skew: Skew = None,
    root: Root = 0,
    in_place: Annotated[
        InPlace,
        typer.Option(
            help="Measure calls with MPI_IN_PLACE; both: beside those without. bcast and barrier have none."
        ),
    ] = InPlace.NO,
    element: Element = ElementType.FLOAT,
    mpi_name: MpiName = None,
    ranks: Ranks = None,
    lab: OnLab = False,
    lab_name: LabName = DEFAULT_NAME,
    ppn: LabPpn = 1,
    provider: Provider = "ucx",
    link_rate: LinkRate = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Minimum number of repetitions.")] = 10,
    min_seconds: Annotated[float, typer.Option(min=0, help="Minimum seconds for each size.")] = 0.0,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="Maximum seconds for each size, unless 5 repetitions take longer.")
    ] = 30.0,
    warmup: Annotated[int, typer.Option(min=0, help="Calls of each spec before the measurement.")] = 3,
    seed: Seed = 1,
    as_json: AsJson = False,
    output: ResultFile = None,
    csv_file: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write a line for each result into this file."),
    ] = None,
    png_file: Annotated[
        Path | None,
        picture_file("throughput, or overlap, over size"),
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option(
            "--compare",
            metavar="FILE",
            help="The -o file of an earlier run: compare the times; exit with 1 if one became slower.",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(min=0, metavar="PART", help="With --compare: the part by which a call may be slower."),
    ] = 0.05,
) -> None:
    """Measure a collective by several specs, interleaved in one run, and check every result."""
    place = Place(launch or [], mpi_name, ranks, lab_name if lab else None, provider, ppn)
    request = Request(
        collective,
        specs,
        parse_sizes(sizes_text(sizes, min_bytes, max_bytes, step_factor)),
        forms,
        overlap,
        parse_seconds(test_every) if test_every else None,
        root,
        in_place,
        element,
        repetitions,
        min_seconds,
        max_seconds,
        warmup,
        seed,
        skew,
    )
    check_picture(find_collective(collective), png_file)
    rate = parse_rate(link_rate) if link_rate else None
    outputs = Outputs(output, csv_file, png_file)
    compare(request, place, rate, outputs, earlier=earlier, tolerance=tolerance, as_json=as_json)
