# SPDX-License-Identifier: Apache-2.0
"""The command line: `stretto` and `python -m stretto`."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.bench import bench
from stretto.cli.lab import lab_app
from stretto.cli.profile import profile
from stretto.cli.program import LauncherCommand, OneLineErrors, ProgramCommand, program_of
from stretto.cli.report import report
from stretto.cli.study import study
from stretto.cli.trace import trace
from stretto.cli.train import train
from stretto.launch.run import run as become_launcher
from stretto.support import paths
from stretto.support.errors import StrettoError

app = typer.Typer(
    cls=OneLineErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Fast MPI collectives under unmodified programs.",
    epilog="Exit status: 0 all is well; 1 what was checked is wrong; 2 it could not be done, as one line "
    "says; 128 + N ended by signal N. run, profile and lab run: that of the launcher.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"stretto {metadata.version('stretto')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version, and end."),
    ] = False,
) -> None:
    """What stands before the name of a command."""


@app.command(cls=ProgramCommand)
def run(
    context: typer.Context,
    spec: Annotated[
        list[str] | None,
        typer.Option(help="How to carry out allreduce, as in ring:segments=4, or another: bcast/chain."),
    ] = None,
    stats: Annotated[Path | None, typer.Option(help="A file for what was called, as JSON.")] = None,
    strict: Annotated[bool, typer.Option(help="A setting that cannot be followed is an error.")] = False,
    summary: Annotated[
        bool | None,
        typer.Option(
            help="One line at the end: calls, how many were Stretto's, their time. On a terminal there is "
            "one unless told otherwise, but it does not count small calls.",
            show_default=False,
        ),
    ] = None,
    mpi_name: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            metavar="NAME",
            help="The MPI of the ranks, where what is run is no launcher of it, as a script or srun: "
            "openmpi, openmpi5, mpich, mpich5 or intelmpi.",
        ),
    ] = None,
) -> None:
    """Run an MPI program with Stretto under it: stretto run -- mpirun -np 8 ./program.

    Before mpirun may stand env, timeout, nice, numactl, taskset and such.
    """
    become_launcher(
        program_of(context), specs=spec or (), stats=stats, strict=strict, summary=summary, mpi_name=mpi_name
    )


@app.command()
def lib(abi: Annotated[str, typer.Argument(help="|".join(paths.ABIS), metavar="ABI")]) -> None:
    """Print the path of the shared object to preload."""
    print(paths.library(abi))


@app.command()
def config(
    cmake_dir: Annotated[
        bool, typer.Option("--cmake-dir", help="The folder for CMake's Stretto_DIR.")
    ] = False,
    pkgconfig_dir: Annotated[
        bool, typer.Option("--pkgconfig-dir", help="The folder for PKG_CONFIG_PATH.")
    ] = False,
    cflags: Annotated[bool, typer.Option("--cflags", help="What the compiler needs.")] = False,
    libs: Annotated[
        bool, typer.Option("--libs", help="What the linker needs, before the MPI library.")
    ] = False,
    mpi: Annotated[
        str | None, typer.Option(metavar="|".join(paths.ABIS), help="The binary interface, for --libs.")
    ] = None,
) -> None:
    """Print how to link: mpicc.mpich app.c $(stretto config --cflags --libs --mpi mpich)."""
    if libs and mpi is None:
        raise StrettoError(f"--libs: say for which MPI: --mpi {' or --mpi '.join(paths.ABIS)}")
    words = [
        *([str(paths.cmake_folder())] if cmake_dir else []),
        *([str(paths.pkgconfig_folder())] if pkgconfig_dir else []),
        *(paths.compile_flags() if cflags else []),
        *(paths.link_flags(mpi) if libs and mpi else []),
    ]
    if not words:
        raise StrettoError("config: say what to print: --cmake-dir, --pkgconfig-dir, --cflags or --libs")
    print(*words)


@app.command()
def doctor() -> None:
    """Check the set-up: what is there, what is missing, and how to get it."""
    from stretto.launch.doctor import doctor as examine_and_print  # noqa: PLC0415  asks every launcher; others need not

    raise typer.Exit(0 if examine_and_print() else 1)


app.add_typer(lab_app, name="lab")
app.command()(bench)
app.command()(trace)
app.command(cls=ProgramCommand)(profile)
app.command(cls=LauncherCommand)(study)
app.command()(report)
app.command(cls=LauncherCommand)(train)

try:
    from stretto.cli import (
        advise,
        algorithms,
        calibrate,
        explain,
        export,
        predict,
        replay,
        reproduce,
        show,
        simulate,
        tune,
        verify,
    )
except ImportError:
    # Without the compiled module there are no schedules; `stretto doctor` must start all the same, to say so.
    pass
else:
    app.command()(algorithms.algorithms)
    app.command()(verify.verify)
    app.command()(show.show)
    app.command()(advise.advise)
    app.command()(predict.predict)
    app.command()(tune.tune)
    app.command()(export.export)
    app.command()(explain.explain)
    app.command()(calibrate.calibrate)
    app.command(cls=simulate.SimulateCommand)(simulate.simulate)
    app.command()(replay.replay)
    app.command()(reproduce.reproduce)
