# SPDX-License-Identifier: Apache-2.0
"""Makes the page of all commands, with every argument and option of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from stretto.cli.main import app
from stretto.cli.program import commands_of

# Commands and parameters are Any, since their classes are Typer's or click's, depending on Typer's version.


def command_page() -> str:
    """Return the page as Markdown."""
    group: Any = get_command(app)
    parts = ["# Commands\n", f"`stretto COMMAND --help` says the same. {group.help}\n"]
    commands = list(commands_of(group, "stretto"))
    parts.append("| command | what it does |\n| --- | --- |")
    parts += [f"| [`{name}`](#{_anchor(name)}) | {_cell(command.help)} |" for name, command in commands]
    for name, command in commands:
        parts += ["", *_section(name, command)]
    return "\n".join(parts) + "\n"


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _section(name: str, command: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=name)
    yield f"## {name} {{ #{_anchor(name)} }}"
    yield ""
    yield f"```\n{' '.join([name, *command.collect_usage_pieces(context)])}\n```"
    yield ""
    yield from (_escaped(line) for line in (command.help or "").splitlines())
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    for title, parameters in (("argument", arguments), ("option", options)):
        if parameters:
            yield f"\n| {title} | meaning | |\n| --- | --- | --- |"
            yield from (_row(*one.get_help_record(context)) for one in parameters)


def _row(names: str, text: str) -> str:
    """Return a row from a line of --help: the meaning, with default and range in brackets after it."""
    meaning, brackets, usual = text.rpartition("  [")
    if not brackets:
        meaning, usual = text, ""
    return f"| `{names}` | {_cell(meaning)} | {_cell(usual.removesuffix(']'))} |"


def _cell(text: str | None) -> str:
    return _escaped(" ".join((text or "").split())).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Return the text with HTML and emphasis escaped."""
    return re.sub(r"([<*_])", r"\\\1", text)
