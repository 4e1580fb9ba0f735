# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have: where a job runs, what it calls."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto.bench.options import ElementType
from stretto.cli.completion import complete_mpi

LauncherLine = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- LAUNCHER", help="Your own launcher with its options: -- mpirun -np 8"),
]
MpiName = Annotated[
    str | None,
    typer.Option(
        "--mpi",
        metavar="NAME",
        help="openmpi, openmpi5, mpich, mpich5 or intelmpi; sockets: no MPI.",
        autocompletion=complete_mpi,
    ),
]
Ranks = Annotated[
    int | None,
    typer.Option(
        "--ranks", "--np", "-n", min=1, help="Number of ranks. Default: 2, or as many as the lab holds."
    ),
]
OnLab = Annotated[bool, typer.Option("--lab", help="Run on the emulated cluster of stretto lab up.")]
LabName = Annotated[str, typer.Option(help="The name of the lab: stretto, or stretto-WORD.")]
LabPpn = Annotated[int, typer.Option("--ppn", min=1, help="Ranks on each node of the lab.")]
Provider = Annotated[str, typer.Option(help="Network layer of MPICH 5 on the lab: ucx or ofi.")]
LinkRate = Annotated[
    str | None, typer.Option(metavar="RATE", help="Rate of a node's link, for the upper bound: 100gbit")
]
Ppn = Annotated[int, typer.Option("--ppn", min=1, help="Ranks on each node.")]

ModelNodes = Annotated[int | None, typer.Option("--nodes", min=1, help="Number of nodes. Default: 8.")]
ModelPpn = Annotated[int | None, typer.Option("--ppn", min=1, help="Ranks on each node. Default: 1.")]
Topology = Annotated[str | None, typer.Option(help="Any topology, such as ppn=4+4+1, or a file.")]

Root = Annotated[int, typer.Option(min=0, help="Root rank of bcast and reduce.")]
Element = Annotated[ElementType, typer.Option("--type", help="Type of the elements.")]
Skew = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        metavar="FRACTION",
        help="In calls with a length for each rank, the part of the message in the block of rank 0; in an "
        "alltoallv, in each rank's block for the next rank. Default: equal blocks.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the order in which the specs run.")]
