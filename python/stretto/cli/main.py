# SPDX-License-Identifier: Apache-2.0
"""The command line: `stretto` and `python -m stretto`."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from stretto.cli.bench import bench
from stretto.cli.config import config
from stretto.cli.doctor import doctor
from stretto.cli.lab import lab_app
from stretto.cli.lib import lib
from stretto.cli.profile import profile
from stretto.cli.program import LauncherCommand, OneLineErrors, ProgramCommand
from stretto.cli.report import report
from stretto.cli.run import run
from stretto.cli.study import study
from stretto.cli.trace import trace
from stretto.cli.train import train

app = typer.Typer(
    cls=OneLineErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Fast MPI collectives under unmodified programs.",
    epilog="Exit status: 0 success; 1 a check failed; 2 an error, which one line names; 128 + N ended by "
    "signal N. run, profile and lab run: the launcher's status.",
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
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Options that precede the name of a command."""


app.command(cls=ProgramCommand)(run)
app.command()(lib)
app.command()(config)
app.command()(doctor)
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
    # Without the compiled module, `stretto doctor` must still start, to report what is missing.
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
