# SPDX-License-Identifier: Apache-2.0
"""`stretto man`: the manual page, made of what --help says of every command."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from typing import Any

import typer

from stretto.cli.program import commands_of

# Any, since Typer's classes of commands and parameters are its own or click's, depending on its version.


def man(context: typer.Context) -> None:
    """Print the manual page: stretto man >~/.local/share/man/man1/stretto.1, or stretto man | man -l -."""
    root: Any = context.find_root().command
    print("\n".join(_page(root)))


def _page(root: Any) -> Iterator[str]:
    yield f'.TH STRETTO 1 "" "stretto {metadata.version("stretto")}" "Stretto"'
    yield from (".SH NAME", rf"stretto \- {_escaped(root.help)}")
    yield from (".SH SYNOPSIS", r"\fBstretto\fR \fICOMMAND\fR [\fIOPTIONS\fR]")
    for name, command in commands_of(root, "stretto"):
        yield from _section(name, command)
    yield from (".SH EXIT STATUS", _escaped(root.epilog.removeprefix("Exit status: ")))


def _section(name: str, command: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=name)
    yield f'.SH "{_escaped(name)}"'
    yield rf"\fB{_escaped(' '.join([name, *command.collect_usage_pieces(context)]))}\fR"
    yield ".PP"
    yield from (_escaped(line) or ".PP" for line in (command.help or "").splitlines())
    for parameter in command.params:
        record = None if getattr(parameter, "hidden", False) else parameter.get_help_record(context)
        if record is not None:
            yield from (".TP", rf"\fB{_escaped(record[0])}\fR", _escaped(record[1]) or r"\&")


def _escaped(text: str | None) -> str:
    """The text in one line, without anything that troff would take for its own."""
    line = " ".join((text or "").split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{line}" if line.startswith((".", "'")) else line
