# SPDX-License-Identifier: Apache-2.0
"""Base classes of commands: another program's command line after `--`, and errors of one line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from stretto.support.errors import StrettoError
from stretto.support.interruption import exit_by_signal

_KEY = "stretto.program"


class Command(TyperCommand):
    """A command whose help shows flags by their names alone."""

    def get_params(self, ctx: Any) -> Any:
        """All parameters, the option --help among them."""
        return without_types(super().get_params(ctx))


class ProgramCommand(Command):
    """A command whose arguments after `--` are another program's command line."""

    program_needed = True
    program_usage = "-- PROGRAM [ARGUMENTS]"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments before `--`, and keep the others as they are."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_KEY] = args[at + 1 :]
            args = args[:at]
        elif self.program_needed and not ctx.resilient_parsing and not {"-h", "--help"} & set(args):
            needed = [f"{one.opts[0]} {one.metavar} " for one in self.params if one.required]
            usage = f"{ctx.command_path} {''.join(needed)}-- PROGRAM"
            raise StrettoError(f"there is no -- before the program; use: {usage}")
        return self.parse_options(ctx, args)

    def parse_options(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments before `--`."""
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The parts of the usage line after the name."""
        return [*super().collect_usage_pieces(ctx), self.program_usage]


class PassingCommand(ProgramCommand):
    """A command that another program carries out: it gets all words, options among them, as they are."""

    program_usage = "[--] PROGRAM [ARGUMENTS]"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep all arguments, unless the first one asks for help."""
        if args and args[0] in ctx.help_option_names:
            return list(super().parse_args(ctx, args))
        ctx.meta[_KEY] = args
        return []


class QuickCommand(ProgramCommand):
    """A command whose options are flags and texts, which it reads itself.

    Newer versions of Typer load Pydantic to convert even a text, which takes longer than all else that
    `stretto run` does, and each job pays for it.
    """

    def parse_options(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments before `--`; if that is more than reading options, as Typer does."""
        read = None if ctx.resilient_parsing else self._read(args)
        if read is None:
            return super().parse_options(ctx, args)
        ctx.params.update(read)
        return []

    def _read(self, args: list[str]) -> dict[str, Any] | None:
        """The values of all options; None if there is a word that is none, as --help."""
        options = {name: one for one in self.params for name in [*one.opts, *one.secondary_opts]}
        values: dict[str, Any] = {str(one.name): () if one.multiple else one.default for one in self.params}
        words = iter(args)
        for word in words:
            name, equals, text = word.partition("=")
            option: Any = options.get(name)
            if option is None or (option.is_flag and equals):
                return None
            value = name in option.opts if option.is_flag else text if equals else next(words, None)
            if value is None:
                return None
            values[option.name] = [*values[option.name], value] if option.multiple else value
        return values


class OptionalProgramCommand(ProgramCommand):
    """A command that takes another program after `--`, if the user gives one."""

    program_needed = False
    program_usage = "[-- PROGRAM [ARGUMENTS]]"


class LauncherCommand(ProgramCommand):
    """A command that takes a launcher with its options after `--`, if the user gives one."""

    program_needed = False
    program_usage = "[-- LAUNCHER [OPTIONS]]"


def without_types(parameters: Any) -> Any:
    """The parameters, of which flags have no type: Typer would show `<bool>` beside their names."""
    for one in parameters:
        if getattr(one, "is_flag", False):
            one.metavar = ""
    return parameters


def command_in(group: Any, name: str) -> Any:
    """A command of a group, with its options: the group of all lists commands that are not loaded."""
    return group.load(name) if hasattr(group, "load") else group.commands[name]


def commands_of(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    """All commands of a group and of the groups in it, by their whole names, sorted; but for hidden ones."""
    if hasattr(group, "list_all"):
        group.list_all()
    for child in sorted(group.commands):
        command = command_in(group, child)
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{name} {child}")
        elif not command.hidden:
            yield f"{name} {child}", command


def program_of(context: typer.Context) -> list[str]:
    """The arguments that are for another program: those after `--`, if it has any of its own."""
    program: list[str] = context.meta.get(_KEY, [])
    return program


class Group(TyperGroup):
    """A group whose help shows flags by their names alone."""

    def get_params(self, ctx: Any) -> Any:
        """The options before the command's name."""
        options = super().get_params(ctx)
        # Typer's own flags have none, and to make False of that it loads Pydantic, which takes its time.
        for option in options:
            if getattr(option, "is_flag", False) and option.default is None:
                option.default = False
        return without_types(options)


class OneLineErrors(Group):
    """Shows an error as one line, and exits with the status that docs/variables.md names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command's name."""
        with _one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the named command."""
        with exit_by_signal(), _one_line():
            return super().invoke(ctx)


def _about_missing(error: Any) -> str:
    """Returns what the help says of an argument or option that is missing, with its choices; else nothing."""
    about = getattr(getattr(error, "param", None), "help", None)
    return f": {about}" if about and type(error).__name__ == "MissingParameter" else ""


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except StrettoError as error:
        typer.echo(f"stretto: {error}", err=True)
        raise typer.Exit(error.status) from None
    except Exception as error:
        # Typer's own usage errors. Older versions take the class from click, newer ones have their own.
        if not hasattr(error, "format_message") or type(error).__name__ == "NoArgsIsHelpError":
            raise
        context = getattr(error, "ctx", None)
        missing = _about_missing(error)
        where = f" (see {context.command_path} --help)" if context else ""
        # Newer versions of Typer keep the beginning of Pydantic's messages.
        words = " ".join(error.format_message().split()).replace("Value error, ", "")
        words = words.rstrip(".") if missing else words
        typer.echo(f"stretto: {words}{missing}{where}", err=True)
        raise typer.Exit(2) from None
