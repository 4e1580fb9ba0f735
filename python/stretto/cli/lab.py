# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto lab`'s commands."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto.cli.completion import complete_mpi
from stretto.cli.program import Command, Group, ProgramCommand, program_of
from stretto.cli.result_options import AsJson
from stretto.lab import commands
from stretto.lab.cluster import DEFAULT_NAME
from stretto.lab.jobs import Job
from stretto.lab.links import STATES, UNLIMITED, Links
from stretto.launch import mpi

lab = typer.Typer(
    name="lab",
    cls=Group,
    add_completion=False,
    no_args_is_help=True,
    help="An emulated cluster on this machine (needs root).",
)

# Other commands only have --lab-name, since --name could mean something else there.
Name = Annotated[
    str, typer.Option("--name", "--lab-name", help="The name of the lab: stretto, or stretto-WORD.")
]


@lab.command(cls=Command)
def up(
    nodes: Annotated[int | None, typer.Option(help="Number of nodes. Default: 8.")] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="The rate of each link, in both directions, or unlimited. Default: 200mbit."),
    ] = None,
    rates: Annotated[
        str | None, typer.Option(metavar="RATE,RATE,...", help="A rate for each node, in place of --rate.")
    ] = None,
    racks: Annotated[int, typer.Option(help="Racks over which the nodes are spread evenly.")] = 1,
    uplink: Annotated[str, typer.Option(help="The rate of each rack's link to the others.")] = UNLIMITED,
    connection: Annotated[
        str, typer.Option(help="The rate of a single connection, which some clouds limit.")
    ] = UNLIMITED,
    rails: Annotated[
        int, typer.Option(help="Links of each node, eth0, eth1 and so on, each to a network of its own.")
    ] = 1,
    name: Name = DEFAULT_NAME,
) -> None:
    """Make the cluster: a network namespace for each node, and links of limited rate between them."""
    commands.up(name, Links.parse(nodes, rate, rates, racks, uplink, connection, rails))


@lab.command("set", cls=Command)
def change(
    rate: Annotated[str | None, typer.Option(help="The new rate of the links, or unlimited.")] = None,
    node: Annotated[
        list[int] | None, typer.Option(help="Only the links of this node, from 0. May be repeated.")
    ] = None,
    rail: Annotated[
        list[int] | None, typer.Option(help="Only the links to this rail, from 0. May be repeated.")
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(STATES),
            help="Take the links down or up, or let them silently drop all packets, as a firewall does.",
        ),
    ] = None,
    uplink: Annotated[str | None, typer.Option(help="The new rate of the racks' uplinks.")] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Change the rates of links while jobs run, or cut links off."""
    commands.change(name, rate, node or (), uplink, rail or (), link)


@lab.command(cls=Command)
def down(name: Name = DEFAULT_NAME) -> None:
    """Remove the cluster, and end all processes in it."""
    commands.down(name)


@lab.command(cls=Command)
def status(as_json: AsJson = False) -> None:
    """Show the labs that are up, and how many processes run in them."""
    commands.status(as_json)


@lab.command(cls=ProgramCommand)
def run(
    context: typer.Context,
    mpi_name: Annotated[
        str,
        typer.Option(
            "--mpi",
            metavar="NAME",
            help=f"The MPI: {', '.join(flavor.value for flavor in mpi.Flavor)}.",
            autocompletion=complete_mpi,
        ),
    ],
    ppn: Annotated[
        str,
        typer.Option(metavar="N|N,N,...", help="Ranks on each node: one number for all, or one for each."),
    ] = "1",
    np: Annotated[
        int | None,
        typer.Option("--ranks", "--np", "-n", help="Number of ranks. Default: --ppn on every node."),
    ] = None,
    provider: Annotated[str, typer.Option(help="The network layer of MPICH 5: ucx or ofi.")] = "ucx",
    stretto: Annotated[
        bool, typer.Option("--stretto/--native", help="Whether to put Stretto under the program.")
    ] = False,
    spec: Annotated[
        list[str] | None,
        typer.Option(help="Put Stretto under it, with this spec: ring for allreduce, or bcast/chain."),
    ] = None,
    env: Annotated[list[str] | None, typer.Option("--env", "-x", help="NAME=VALUE for every rank.")] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Run an MPI program on the cluster: stretto lab run --mpi openmpi -- ./program ARGUMENTS."""
    variables = commands.parse_variables(env or [])
    first, *others = commands.parse_ppn(ppn)
    on_each = [first, *others] if others else []
    job = Job(program_of(context), first, np, provider, stretto, spec or (), variables, on_each)
    raise typer.Exit(commands.run(name, mpi_name, job))
