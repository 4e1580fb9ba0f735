# SPDX-License-Identifier: Apache-2.0
"""Every command that can print a table has --json, as those of Stretto itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.python.cli.json_options import all_commands, complaint, definition_of, json_option
from tests.python.cli.reachable import consoles_on_standard_output

import stretto_research

COMMANDS = list(all_commands("stretto_research"))


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_what_prints_has_json(name: str, command: Any) -> None:
    assert complaint(definition_of(command), name, json_option(command)) == ""


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_json_is_the_same_option_everywhere(name: str, command: Any) -> None:
    option = json_option(command)
    assert option is not None
    assert option.opts == ["--json"], name
    assert option.is_flag
    assert option.help == "Print one JSON document in place of tables."


def test_the_commands_inside_commands_are_found() -> None:
    assert "stretto_research.cli.simulate -- bench" in dict(COMMANDS)
    assert len(COMMANDS) == 9


def test_tables_are_printed_by_one_console() -> None:
    assert list(consoles_on_standard_output(Path(stretto_research.__path__[0]))) == []


@pytest.mark.parametrize("name", ["stretto predict", "stretto_research.cli.simulate -- bench"])
def test_a_command_that_lost_its_option_is_found(name: str) -> None:
    expected = "prints tables, and has no --json"
    assert complaint(definition_of(dict(COMMANDS)[name]), name, None) == expected
