# SPDX-License-Identifier: Apache-2.0
"""The packages of `pip install stretto` are enough for the usual commands, and little is loaded."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from stretto.cli.listing import COMMANDS
from stretto.support.extras import TOOLS

from .without_tools import python, without_tools

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

COMPLETE = ["run", "exec", "lib", "config", "doctor", "man", "lab", "bench", "trace", "algorithms"]
COMPLETE += ["verify", "show", "tune", "export", "explain", "fabric", "top"]
INCOMPLETE = {
    "profile": "Pydantic",
    "report": "Jinja2 and Matplotlib and Pydantic",
    "calibrate": "NumPy and SciPy",
}


def test_every_command_is_with_or_without_tools() -> None:
    assert sorted(COMMANDS) == sorted([*COMPLETE, *INCOMPLETE])


@pytest.mark.parametrize("name", COMPLETE)
def test_a_command_that_needs_no_tools(name: str) -> None:
    shown = without_tools(name, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"Usage: stretto {name}" in shown.stdout


@pytest.mark.parametrize("name", INCOMPLETE)
def test_a_command_that_needs_tools(name: str) -> None:
    ran = without_tools(name, "--nodes", "2")
    line = f"stretto: {name} needs {INCOMPLETE[name]}: pip install 'stretto[tools]'\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", line)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--spec", "ring", "--", "true"],
        ["bench", "allreduce", "--mpi", "openmpi", "--np", "2", "--sizes", "8", "--repetitions", "5"],
        ["explain", "allreduce", "--machine", "altec", "--top", "1"],
        ["lab", "status"],
        ["doctor", "--lines", "slurm"],
        ["verify", "ring", "--ranks", "3", "--topologies", "0"],
        ["man"],
    ],
    ids=lambda words: words[0],
)
def test_it_works_without_tools(words: list[str]) -> None:
    ran = without_tools(*words)
    assert ran.returncode == 0, ran.stderr


def test_the_doctor_says_how_to_get_the_tools() -> None:
    assert "pip install 'stretto[tools]'" in without_tools("doctor", "--json").stdout


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["bench", "allreduce", "--png", "x.png"], "x.png: a picture needs Matplotlib"),
        (["show", "ring", "-o", "x.png"], "a picture needs Matplotlib"),
        (["explain", "--machine", "altec", "--measured", "x.json"], "x.json: reading measured times needs"),
    ],
)
def test_an_option_that_needs_tools(words: list[str], what: str) -> None:
    ran = without_tools(*words)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"stretto: {what}")
    assert ran.stderr.endswith(": pip install 'stretto[tools]'\n")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["run", "--spec", "ring", "--", "true"],
        ["run", "--dry-run", "--", "true"],
        ["exec", "--", "true"],
    ],
)
def test_what_every_job_pays_for_loads_little(words: list[str]) -> None:
    """Only its own room: no package of the tools, and no module that only shows help and tables."""
    script = (
        "import atexit, os, sys\nfrom stretto.__main__ import tool\n"
        "show = lambda *_: (print(*sys.modules), sys.stdout.flush(), os._exit(0))\n"
        "os.execvp = os.execv = show\natexit.register(show)\ntool()"
    )
    loaded = python(script, *words).stdout.split()
    assert "stretto.cli.main" in loaded
    assert [name for name in loaded if name in {*TOOLS, "rich", "torch", "mpi4py"}] == []
    rooms = {name.split(".")[1] for name in loaded if name.startswith("stretto.")}
    assert rooms <= {"__main__", "_core", "cli", "launch", "spec", "support"}


def test_the_extra_names_what_it_is_for() -> None:
    assert {re.split("[<>=]", one)[0] for one in PROJECT["optional-dependencies"]["tools"]} == set(TOOLS)
    assert not set(TOOLS) & {re.split("[<>=]", one)[0] for one in PROJECT["dependencies"]}
