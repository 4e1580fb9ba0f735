# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.completion import complete_mpi, complete_spec
from stretto.cli.program import QuickCommand, program_of
from stretto.launch.run import become_launcher

COMMAND_CLASS = QuickCommand


def run(
    context: typer.Context,
    spec: Annotated[
        list[str] | None,
        typer.Option(
            help="The spec of allreduce, such as ring:segments=4, or of another: bcast/chain.",
            autocompletion=complete_spec,
        ),
    ] = None,
    stats: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write what was called into this JSON file.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            help="End the job with an error if a spec or a variable STRETTO_… is wrong or does not fit. "
            "Without it, a line says so, and the MPI default or the usual value is used."
        ),
    ] = False,
    replace: Annotated[
        str | None,
        typer.Option(
            metavar="BACKEND",
            help="Use Stretto where a PyTorch program asks for this backend of torch.distributed: gloo.",
        ),
    ] = None,
    summary: Annotated[
        bool | None,
        typer.Option(
            help="Print one line at the end: calls, how many Stretto handled, their time. The default on a "
            "terminal is a line that does not count small calls.",
            show_default=False,
        ),
    ] = None,
    mpi_name: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            metavar="NAME",
            help="The MPI of the ranks, if the program is not its launcher (a script, srun): openmpi, "
            "openmpi5, mpich, mpich5 or intelmpi.",
            autocompletion=complete_mpi,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Start nothing: print the variables that ranks would get, and the whole command line.",
        ),
    ] = False,
) -> None:
    """Run an MPI or PyTorch program with Stretto under it: stretto run -- mpirun -np 8 ./program.

    PyTorch's: stretto run --replace gloo -- torchrun --nproc-per-node 2 train.py.

    env, timeout, nice, numactl, taskset and the like may precede mpirun.
    """
    become_launcher(
        program_of(context),
        specs=spec or (),
        stats=Path(stats) if stats else None,
        strict=strict,
        replace=replace,
        summary=summary,
        mpi_name=mpi_name,
        dry=dry_run,
    )
