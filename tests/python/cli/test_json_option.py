# SPDX-License-Identifier: Apache-2.0
"""Every command that can print a table has --json, whoever adds a command or a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stretto

from .json_options import all_commands, complaint, definition_of, json_option
from .reachable import consoles_on_standard_output

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


COMMANDS = list(all_commands("stretto"))


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_what_prints_has_json(name: str, command: Any) -> None:
    assert complaint(definition_of(command), name, json_option(command), PLAIN) == ""


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


def test_tables_are_printed_by_one_console() -> None:
    package = Path(stretto.__path__[0])
    found = list(consoles_on_standard_output(package))
    assert [one for one in found if not one.startswith("support/console.py:")] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("stretto explain", "prints tables, and has no --json"),  # by a function of another room
        ("stretto doctor", "prints tables, and has no --json"),  # imported inside the function
        ("stretto lab status", "has no --json; give it one"),  # print() in place of a table
        ("stretto verify", "has no --json; give it one"),
        ("stretto tune", "prints tables, and has no --json"),
    ],
)
def test_a_command_that_lost_its_option_is_found(name: str, expected: str) -> None:
    assert expected in complaint(definition_of(dict(COMMANDS)[name]), name, None, PLAIN)


def test_an_option_that_nothing_heeds_is_found() -> None:
    name = "stretto lib"
    assert "does not print by print_result" in complaint(
        definition_of(dict(COMMANDS)[name]), name, object(), PLAIN
    )
