# SPDX-License-Identifier: Apache-2.0
"""The command line: `stretto` and `python -m stretto`."""

from __future__ import annotations

import logging
from importlib import import_module, metadata
from typing import Annotated

import typer

from stretto.cli.config import config
from stretto.cli.doctor import doctor
from stretto.cli.exec import exec_
from stretto.cli.lab import lab_app
from stretto.cli.lib import lib
from stretto.cli.man import man
from stretto.cli.program import OneLineErrors, ProgramCommand
from stretto.cli.run import run
from stretto.support.errors import StrettoError

# Without a HOME that it can write to, it tells of folders that nobody asked about.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

app = typer.Typer(
    cls=OneLineErrors,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Fast MPI collectives under unmodified programs.",
    epilog="Exit status: 0 success; 1 a check failed; 2 an error, which one line names; 128 + N ended by "
    "signal N. run, profile and lab run: the launcher's status; exec: the program's.",
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
app.command("exec", cls=ProgramCommand)(exec_)
app.command()(lib)
app.command()(config)
app.command()(doctor)
app.command()(man)
app.add_typer(lab_app, name="lab")


def _add_command_on_core(name: str) -> None:
    """Add a command that may need the compiled module; without that module, a command that says so."""
    try:
        module = import_module(f"stretto.cli.{name}")
    except ImportError as error:
        # `stretto doctor` must start all the same, to report what is missing.
        reason = f"{name}: the compiled module cannot be loaded ({error}); stretto doctor says what to do"

        def complain() -> None:
            raise StrettoError(reason)

        any_options = {"ignore_unknown_options": True, "allow_extra_args": True}
        app.command(name, help="Not available: see stretto doctor.", context_settings=any_options)(complain)
    else:
        app.command(cls=getattr(module, "COMMAND_CLASS", None))(getattr(module, name))


_ON_CORE = (
    *("bench", "trace", "profile", "study", "report", "train", "algorithms", "verify", "show", "advise"),
    *("predict", "tune", "export", "explain", "calibrate", "simulate", "replay", "reproduce", "regret"),
)
for _name in _ON_CORE:
    _add_command_on_core(_name)
