# SPDX-License-Identifier: Apache-2.0
"""The command line: `stretto` and `python -m stretto`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from stretto.cli.listing import COMMANDS, Line, added_commands
from stretto.cli.program import Command, OneLineErrors
from stretto.support.errors import StrettoError
from stretto.support.extras import require


class Commands(OneLineErrors):
    """All commands. Only the module of the one that is asked for is loaded: it takes its time."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._lines: dict[str, Line] = {}
        self._is_complete = False
        self._list(COMMANDS)

    def _list(self, lines: Mapping[str, Line]) -> None:
        for name, line in lines.items():
            if name not in self._lines:
                self._lines[name] = line
                self.add_command(TyperCommand(name, help=line.about, rich_help_panel=line.group))

    def list_all(self, *, is_quiet: bool = False) -> None:
        """List the commands of other distributions, too."""
        if self._is_complete:
            return
        self._is_complete = True
        for distribution, found in added_commands():
            if not isinstance(found, Exception):
                self._list(found)
            elif not is_quiet:
                typer.echo(f"stretto: the commands of {distribution} cannot be loaded: {found}", err=True)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        self.list_all(is_quiet=ctx.resilient_parsing)
        return list(super().list_commands(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name of the command, the command, and its arguments."""
        if args[0] not in self._lines:
            self.list_all(is_quiet=ctx.resilient_parsing)
        name, _, rest = super().resolve_command(ctx, args)
        return name, name and self.load(name), rest

    def load(self, name: str) -> Any:
        """The command; if what it needs is missing, one that says so."""
        line = self._lines[name]
        try:
            require(name, *line.tools)
            module = import_module(f"{line.room}.{name}")
        except StrettoError as error:
            return self._complaint(name, str(error))
        except ImportError as error:
            # `stretto doctor` must start all the same, to report what is missing.
            return self._complaint(
                name,
                f"{name}: the compiled module cannot be loaded ({error}); stretto doctor says what to do",
            )
        command = getattr(module, name)
        if isinstance(command, typer.Typer):
            return get_command(command)
        alone = typer.Typer(add_completion=False)
        alone.command(name, cls=getattr(module, "COMMAND_CLASS", Command))(command)
        return get_command(alone)

    def _complaint(self, name: str, reason: str) -> TyperCommand:
        def complain() -> None:
            raise StrettoError(reason)

        any_options = {"ignore_unknown_options": True, "allow_extra_args": True}
        about = self._lines[name].about
        return TyperCommand(name, callback=complain, help=about, context_settings=any_options)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Fast collectives under unmodified programs of MPI and PyTorch (torch.distributed).",
    epilog="Exit status: 0 success; 1 a check failed; 2 an error, which one line names; 128 + N ended by "
    "signal N. run, profile and lab run: the launcher's status; exec: the program's.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # noqa: PLC0415  slow to load

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
