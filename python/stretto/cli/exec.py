# SPDX-License-Identifier: Apache-2.0
"""`stretto exec` for `python -m stretto`: the program that `stretto` is carries it out."""

from __future__ import annotations

import os
import sys

import typer

from stretto.cli.program import PassingCommand, program_of
from stretto.support import paths

COMMAND_CLASS = PassingCommand


def exec(context: typer.Context) -> None:  # noqa: A001  as the command is called
    """Run one rank of a program with Stretto under it: srun -n 8 stretto exec ./solver.

    A launcher starts it once a rank, and may clean the environment. Its own --help has the options.
    """
    command = paths.command()
    sys.stdout.flush()
    os.execv(command, [str(command), "exec", *program_of(context)])
