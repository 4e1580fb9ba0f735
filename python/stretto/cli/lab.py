# SPDX-License-Identifier: Apache-2.0
"""stretto lab: the emulated cluster on the command line."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from stretto.cli.program import ProgramCommand, program_of
from stretto.launch import lab_jobs, mpi
from stretto.launch.lab import DEFAULT_NAME, Lab, namespace_processes
from stretto.launch.settings.library import settings_for_launch
from stretto.support.errors import StrettoError

lab_app = typer.Typer(no_args_is_help=True, help="An emulated cluster on this machine (needs root).")

# Other commands have a --lab-name, since they may have more to name.
Name = Annotated[str, typer.Option("--name", "--lab-name", help="Which lab: stretto, or stretto-WORD.")]


@lab_app.command()
def up(
    nodes: Annotated[int, typer.Option(help="How many nodes.")] = 8,
    rate: Annotated[str, typer.Option(help="The rate of every link, in both directions.")] = "200mbit",
    name: Name = DEFAULT_NAME,
) -> None:
    """Make the cluster: one network namespace a node, links of limited rate between them."""
    made = Lab(name).up(nodes, rate)
    print(f"a lab of {nodes} nodes at {rate} is up" + ("" if made else " already"))


@lab_app.command()
def down(name: Name = DEFAULT_NAME) -> None:
    """Take the cluster away, with all that still runs in it."""
    was_up = Lab(name).down()
    for other in Lab.all():
        state = other.state()
        if state is not None and state.abandoned:
            other.down()
            print(f"the lab {other.name}, left behind by a process that was killed, is down")
    if was_up:
        print("the lab is down")
    else:
        print(Lab.others_text(f"no lab {name} was up", name) or "no lab was up")


@lab_app.command()
def status() -> None:
    """Show the labs that are up, and what runs in them."""
    labs = [(lab.name, state) for lab in Lab.all() if (state := lab.state()) is not None]
    if not labs:
        print("no lab is up")
    for name, state in labs:
        running = sum(1 for _ in namespace_processes(state.namespaces))
        what = "left unfinished: stretto lab down" if state.abandoned else f"{running} processes in it"
        print(f"{name}: {state.nodes} nodes at {state.rate}, {what}")


@lab_app.command(cls=ProgramCommand)
def run(
    context: typer.Context,
    mpi_name: Annotated[str, typer.Option("--mpi", help="|".join(flavor.value for flavor in mpi.Flavor))],
    ppn: Annotated[int, typer.Option(help="Ranks on a node.")] = 1,
    np: Annotated[
        int | None, typer.Option("--np", "-n", help="Ranks in all; ppn on every node unless given.")
    ] = None,
    provider: Annotated[str, typer.Option(help="The network layer of MPICH 5: ucx or ofi.")] = "ucx",
    stretto: Annotated[
        bool, typer.Option("--stretto/--native", help="With Stretto under it, or as it is.")
    ] = False,
    spec: Annotated[
        list[str] | None,
        typer.Option(help="With Stretto under it, and this spec for allreduce, or as in bcast/chain."),
    ] = None,
    env: Annotated[list[str] | None, typer.Option("--env", "-x", help="NAME=VALUE for every rank.")] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Run an MPI program on the cluster: stretto lab run --mpi openmpi -- ./program ARGUMENTS."""
    variables: dict[str, str] = {}
    for setting in env or []:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise StrettoError(f"--env {setting}: write NAME=VALUE")
        variables[key] = value
    lab = Lab(name)
    lab.require()
    install = mpi.find_install(mpi_name)
    if stretto or spec:
        variables = settings_for_launch(install.launcher, os.environ) | variables
    job = lab_jobs.Job(program_of(context), ppn, np, provider, stretto, spec or (), variables)
    raise typer.Exit(lab_jobs.run(lab, install, job))
