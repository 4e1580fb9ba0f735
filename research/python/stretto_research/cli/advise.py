# SPDX-License-Identifier: Apache-2.0
"""`stretto advise`: the fastest specs on a cluster that need not exist, and their gains over each library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.options import Ppn
from stretto.cli.result_options import AsJson, ResultFile, picture_file
from stretto.model.walker import machine_names
from stretto.spec.recipes import check_sized, sized_collectives
from stretto.support.console import announce, print_result
from stretto.support.files import check_files, write_atomically
from stretto.support.units import parse_sizes
from stretto_research.advise.cluster import (
    USUAL_LATENCY,
    USUAL_NETWORK,
    USUAL_NODE_BANDWIDTH,
    USUAL_NODE_LATENCY,
    USUAL_REDUCTION,
    Figures,
    cluster_of,
)
from stretto_research.advise.file import advice_json, family_of, tuning_table
from stretto_research.advise.plot import plot_advice
from stretto_research.advise.result import Question, find_advice
from stretto_research.advise.table import print_advice, print_check


def advise(
    nodes: Annotated[int, typer.Option(min=2, help="Number of nodes.")],
    ppn: Ppn = 1,
    network: Annotated[
        str | None,
        typer.Option(metavar="RATE", help=f"Rate of a node's link; default {USUAL_NETWORK}."),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"Latency between two nodes; default {USUAL_LATENCY}."),
    ] = None,
    node_latency: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"Latency inside a node; default {USUAL_NODE_LATENCY}."),
    ] = None,
    node_bandwidth: Annotated[
        str | None,
        typer.Option(metavar="BYTES/s", help=f"Bandwidth inside a node; default {USUAL_NODE_BANDWIDTH}."),
    ] = None,
    reduction: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES/s",
            help=f"Operand bytes that a core reduces per second; default {USUAL_REDUCTION}.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help=f"A machine in place of these figures: a file, or {', '.join(machine_names())}.",
        ),
    ] = None,
    collective: Annotated[str, typer.Option(help=f"One of {', '.join(sized_collectives())}.")] = "allreduce",
    sizes: Annotated[str, typer.Option(help="Message sizes, as in stretto bench.")] = "8B..1GiB:4",
    check_sample: Annotated[
        bool, typer.Option("--check/--no-check", help="Check a sample by simulation with SimGrid's SMPI.")
    ] = True,
    as_json: AsJson = False,
    output: ResultFile = None,
    png_file: Annotated[Path | None, picture_file("throughput over size")] = None,
    table_file: Annotated[
        Path | None, typer.Option("--table", help="Write a tuning table (STRETTO_TABLE) for --mpi here.")
    ] = None,
    mpi: Annotated[str, typer.Option(help="MPI library and version of --table.")] = "Open MPI 4.1.4",
) -> None:
    """Find the fastest spec for each message size on a planned cluster, and its gain over each library."""
    check_sized(collective)
    check_files([output, table_file], [png_file])
    cluster = cluster_of(Figures(network, latency, node_latency, node_bandwidth, reduction), machine)
    family_of(mpi)
    question = Question(collective, nodes, ppn, parse_sizes(sizes))
    found = find_advice(question, cluster, check_sample=check_sample)
    name = cluster.machine.name
    text = advice_json(question, name, found)

    def show() -> None:
        print_advice(found.title, found.advice, found.remarks)
        if found.checked is not None:
            print_check(found.checked, nodes)

    print_result(as_json, lambda: text, show)
    if output:
        write_atomically(output, text)
    if table_file:
        write_atomically(table_file, tuning_table(collective, nodes, ppn, mpi, name, found.advice))
    if png_file:
        plot_advice(f"{found.title}, predicted", found.advice, png_file)
    announce(output, table_file, png_file, as_json=as_json)
