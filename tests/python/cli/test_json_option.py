# SPDX-License-Identifier: Apache-2.0
"""Every command that can print a table has --json, whoever adds a command or a table."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

import stretto.cli
from stretto.cli.main import app
from stretto.cli.program import commands_of

from .reachable import (
    CONSOLE,
    PRINTER,
    Definition,
    consoles_on_standard_output,
    prints_plainly,
    reachable_from,
)

# Commands that print on standard output, but no results. None of them may reach a table.
PLAIN = {
    "stretto config": "words for a compiler's command line",
    "stretto export": "lines for a shell, which reads them",
    "stretto fabric forget": "what was done",
    "stretto lab down": "what was done",
    "stretto lab set": "what was done",
    "stretto lab up": "what was done",
    "stretto lib": "one path",
    "stretto man": "troff",
    "stretto run": "what would be started, for a shell",
    "stretto report": "the names of the files that were written",
}


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yields the commands of `stretto`, and of apps inside commands (simulate -- bench)."""
    yield from commands_of(get_command(app), "stretto")
    for found in pkgutil.iter_modules(stretto.cli.__path__, "stretto.cli."):
        for inner in vars(importlib.import_module(found.name)).values():
            if isinstance(inner, typer.Typer) and inner.registered_commands and not inner.registered_groups:
                command: Any = get_command(inner)
                if not hasattr(command, "commands"):
                    yield f"{found.name} -- {command.name}", command


COMMANDS = list(all_commands())


def definition_of(command: Any) -> Definition:
    function = inspect.unwrap(command.callback)
    return (function.__module__, function.__name__)


def json_option(command: Any) -> Any:
    return next((one for one in command.params if "--json" in one.opts), None)


def complaint(start: Definition, name: str, option: Any) -> str:
    """What is wrong with a command, in words; empty if nothing is."""
    reached = reachable_from(start)
    has_table = CONSOLE in reached
    plain = sorted(one for one in reached if one != PRINTER and prints_plainly(one))
    if option is None:
        if has_table:
            return "prints tables, and has no --json"
        if plain and name not in PLAIN:
            return f"prints by {plain}, and has no --json; give it one, or a reason in PLAIN"
        return ""
    if PRINTER not in reached:
        return "has --json, but does not print by print_result"
    return ""


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_what_prints_has_json(name: str, command: Any) -> None:
    assert complaint(definition_of(command), name, json_option(command)) == ""


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_json_is_the_same_option_everywhere(name: str, command: Any) -> None:
    option = json_option(command)
    if option is not None:
        assert option.opts == ["--json"], name
        assert option.is_flag
        assert option.help == "Print one JSON document in place of tables."


def test_the_exceptions_are_commands() -> None:
    without = {name for name, command in COMMANDS if json_option(command) is None}
    assert set(PLAIN) <= without


def test_the_commands_inside_commands_are_found() -> None:
    assert "stretto_research.cli.simulate -- bench" in dict(COMMANDS)
    assert len(COMMANDS) > 30


def test_tables_are_printed_by_one_console() -> None:
    package = Path(stretto.cli.__path__[0]).parent
    found = list(consoles_on_standard_output(package))
    assert [one for one in found if not one.startswith("support/console.py:")] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("stretto predict", "prints tables, and has no --json"),  # by a function of another room
        ("stretto doctor", "prints tables, and has no --json"),  # imported inside the function
        ("stretto lab status", "has no --json; give it one"),  # print() in place of a table
        ("stretto verify", "has no --json; give it one"),
        ("stretto_research.cli.simulate -- bench", "prints tables, and has no --json"),
        ("stretto tune", "prints tables, and has no --json"),
    ],
)
def test_a_command_that_lost_its_option_is_found(name: str, expected: str) -> None:
    assert expected in complaint(definition_of(dict(COMMANDS)[name]), name, None)


def test_an_option_that_nothing_heeds_is_found() -> None:
    name = "stretto lib"
    assert "does not print by print_result" in complaint(definition_of(dict(COMMANDS)[name]), name, object())
