# SPDX-License-Identifier: Apache-2.0
"""`stretto advise`: what to take on a cluster that one thinks of, and what it gains over each library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.advise.check import Check, check
from stretto.advise.cluster import (
    USUAL_LATENCY,
    USUAL_NETWORK,
    USUAL_NODE_BANDWIDTH,
    USUAL_NODE_LATENCY,
    USUAL_REDUCTION,
    Figures,
    cluster_of,
)
from stretto.advise.output import (
    advice_json,
    family_of,
    print_advice,
    print_check,
    tuning_table,
)
from stretto.advise.plot import plot_advice
from stretto.advise.search import search
from stretto.cli.options import Ppn
from stretto.model.walker import Model, machine_names
from stretto.simulate.smpi import PACKAGE, find_smpirun
from stretto.spec.recipes import check_collective
from stretto.support.console import progress_bar
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_atomically
from stretto.support.units import format_nodes, parse_sizes


def advise(
    nodes: Annotated[int, typer.Option(min=2, help="Number of nodes.")],
    ppn: Ppn = 1,
    network: Annotated[
        str | None,
        typer.Option(metavar="RATE", help=f"Of a node's link, as 100Gbit. Unless given: {USUAL_NETWORK}."),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"Between two nodes. Unless given: {USUAL_LATENCY}."),
    ] = None,
    node_latency: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help=f"Between two ranks of a node. Unless given: {USUAL_NODE_LATENCY}."
        ),
    ] = None,
    node_bandwidth: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES/s", help=f"Between two ranks of a node. Unless given: {USUAL_NODE_BANDWIDTH}."
        ),
    ] = None,
    reduction: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES/s", help=f"Of an operand that a core reduces. Unless given: {USUAL_REDUCTION}."
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help=f"A machine in place of all these: a file, or one of {', '.join(machine_names())}.",
        ),
    ] = None,
    collective: Annotated[
        str, typer.Option(help="allreduce, bcast, reduce, reduce_scatter or allgather.")
    ] = "allreduce",
    sizes: Annotated[str, typer.Option(help="Message sizes, as in stretto bench.")] = "8B..1GiB:4",
    check_sample: Annotated[
        bool, typer.Option("--check/--no-check", help="Whether to simulate a sample with SimGrid's SMPI.")
    ] = True,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures here.")] = None,
    png_file: Annotated[Path | None, typer.Option("--png", help="Draw throughput over size here.")] = None,
    table_file: Annotated[
        Path | None, typer.Option("--table", help="Write a table for STRETTO_TABLE here, for --mpi.")
    ] = None,
    mpi: Annotated[
        str, typer.Option(help="The library that --table is for, with its version.")
    ] = "Open MPI 4.1.4",
) -> None:
    """Say for a cluster that you think of what to take at which size, and what it gains over each library."""
    check_collective(collective)
    check_files([json_file, table_file], [png_file])
    cluster = cluster_of(Figures(network, latency, node_latency, node_bandwidth, reduction), machine)
    all_sizes = parse_sizes(sizes)
    if all_sizes[0] < 1:
        raise StrettoError(f"--sizes {sizes}: there is nothing to say of no bytes")
    family_of(mpi)
    model = Model(cluster.machine)
    topology = f"nodes={nodes},ppn={ppn}"
    with progress_bar("predicting") as progress:
        advice = search(model, collective, topology, all_sizes, lambda part: progress(part, 1.0))
    checked: Check | None = None
    can_check = find_smpirun() is not None
    if check_sample and can_check:
        with progress_bar("simulating") as progress:
            checked = check(model, collective, nodes, ppn, advice, progress)
        advice = checked.advice
    title = f"{collective}, {nodes * ppn} ranks on {format_nodes(nodes)}, {cluster.machine.name}"
    remarks = [cluster.description]
    if collective in ("allreduce", "reduce", "reduce_scatter"):
        remarks.append(
            "the libraries are as SMPI imitates them, for an operation of the program; with MPI_SUM the real "
            "MPICH takes less for long messages"
        )
    if check_sample and not can_check:
        remarks.append(f"not checked by simulation: SimGrid is not installed (Debian, Ubuntu: {PACKAGE})")
    print_advice(title, advice, remarks)
    if checked is not None:
        print_check(checked, nodes)
    if json_file:
        text = advice_json(collective, nodes, ppn, cluster.machine.name, advice, checked)
        write_atomically(json_file, text)
    if table_file:
        write_atomically(table_file, tuning_table(collective, nodes, ppn, mpi, cluster.machine.name, advice))
    if png_file:
        plot_advice(f"{title}, predicted", advice, png_file)
