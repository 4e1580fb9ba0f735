# SPDX-License-Identifier: Apache-2.0
"""What our commands have beyond Typer's: another program's command line after `--`, errors of one line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from stretto.support.errors import StrettoError
from stretto.support.interruption import exit_by_signal

_KEY = "stretto.program"


class ProgramCommand(TyperCommand):
    """A command whose arguments after `--` are another program's, taken over as they are."""

    program_needed = True
    program_usage = "-- PROGRAM [ARGUMENTS]"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Set the program's part aside, so that only our own options are looked at."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_KEY] = args[at + 1 :]
            args = args[:at]
        elif self.program_needed and not {"-h", "--help"} & set(args):
            raise StrettoError(f"there is no -- before the program; write: {ctx.command_path} -- PROGRAM")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What the usage line shows after the name."""
        return [*super().collect_usage_pieces(ctx), self.program_usage]


class LauncherCommand(ProgramCommand):
    """A command that may be given a launcher with its options after `--`."""

    program_needed = False
    program_usage = "[-- LAUNCHER [OPTIONS]]"


def program_of(context: typer.Context) -> list[str]:
    """What stood after the double dash; nothing if there was none."""
    program: list[str] = context.meta.get(_KEY, [])
    return program


class OneLineErrors(TyperGroup):
    """Shows what went wrong as one line, and ends with the status that docs/variables.md names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command's name."""
        with _one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        with exit_by_signal(), _one_line():
            return super().invoke(ctx)


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except StrettoError as error:
        typer.echo(f"stretto: {error}", err=True)
        for line in getattr(error, "exports", []):
            typer.echo(line)
        raise typer.Exit(error.status) from None
    except Exception as error:
        # Typer's own errors of usage; older versions take the class from click, newer ones have their own.
        if not hasattr(error, "format_message") or type(error).__name__ == "NoArgsIsHelpError":
            raise
        context = getattr(error, "ctx", None)
        where = f" (see {context.command_path} --help)" if context else ""
        # Newer Typers pass on how Pydantic begins.
        words = " ".join(error.format_message().split()).replace("Value error, ", "")
        typer.echo(f"stretto: {words}{where}", err=True)
        raise typer.Exit(2) from None
