# SPDX-License-Identifier: Apache-2.0
"""The commands that this distribution adds are listed, and say what they need."""

from __future__ import annotations

from typing import Any

import pytest
from tests.python.cli.without_tools import without_tools
from typer.main import get_command
from typer.testing import CliRunner

from stretto.cli.main import app
from stretto_research.cli.listing import COMMANDS

INCOMPLETE = {
    "study": "Matplotlib and Pydantic",
    "predict": "Pydantic",
    "replay": "Pydantic",
    "reproduce": "Matplotlib and Pydantic",
    "regret": "Pydantic",
}


def test_the_help_lists_them() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert [name for name in COMMANDS if f"{name} " not in shown] == []


def test_the_list_says_what_each_says_of_itself() -> None:
    group: Any = get_command(app)
    group.list_all()
    for name, line in COMMANDS.items():
        assert " ".join(group.load(name).help.split()).startswith(line.about.removesuffix(".")), name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_form_of_help(name: str) -> None:
    short, long = (CliRunner().invoke(app, [name, option]) for option in ("-h", "--help"))
    assert (short.exit_code, short.output) == (0, long.output)
    assert "Usage" in short.output


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - set(INCOMPLETE)))
def test_a_command_that_needs_no_tools(name: str) -> None:
    shown = without_tools(name, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"Usage: stretto {name}" in shown.stdout


@pytest.mark.parametrize("name", INCOMPLETE)
def test_a_command_that_needs_tools(name: str) -> None:
    ran = without_tools(name, "--nodes", "2")
    line = f"stretto: {name} needs {INCOMPLETE[name]}: pip install 'stretto[tools]'\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", line)


def test_the_help_says_what_labs_can_be_called() -> None:
    shown = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "200"})
    assert "stretto-WORD" in shown.output


def test_completion_and_the_manual_page_have_them() -> None:
    assert "stretto predict" in CliRunner().invoke(app, ["man"]).output
