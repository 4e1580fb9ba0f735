# SPDX-License-Identifier: Apache-2.0
"""Examples of commands: --json prints one document, with the values of the table."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stretto.cli.main import app
from stretto.support import console
from stretto.support.units import format_bytes, format_seconds, seconds_unit, three_digits

Row = Mapping[str, Any]


def percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def short_time(seconds: float) -> str:
    """A time as tables of measurements have it: three digits."""
    factor, unit = seconds_unit(seconds)
    return f"{three_digits(seconds / factor)} {unit}"


@dataclass(frozen=True)
class Example:
    """A command line, in which {folder} is a folder with files, and the cells of its table for a row."""

    line: str
    format: str
    rows: str
    """The place of the rows in the document: `calls/choices` is the choices of all calls."""
    cells: Callable[[Row], list[str]]
    """Texts that stand on one line of the table, in this order."""
    prepare: str = ""
    """The fixture that it needs."""
    status: int = 0


def case(row: Row) -> list[str]:
    return [format_bytes(row["bytes"]), row["spec"], format_seconds(row["seconds"])]


@dataclass
class Printed:
    """The output of one run of a command, as a document and as a table."""

    ended: Result
    table: str


@pytest.fixture
def run_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Printed]:
    """Runs a command line with --json, and also keeps the table of the same run."""
    one_way = console.print_result
    table = io.StringIO()

    def both(as_json: bool, document: Callable[[], str], show: Callable[[], None]) -> None:
        one_way(as_json, document, show)
        assert as_json
        with contextlib.redirect_stdout(table):
            show()

    for module in list(sys.modules.values()):
        if getattr(module, "print_result", None) is one_way:
            monkeypatch.setattr(module, "print_result", both)

    def run(line: str) -> Printed:
        words = shlex.split(line.format(folder=tmp_path))
        ended = CliRunner().invoke(app, words, env={"COLUMNS": "400"})
        return Printed(ended, table.getvalue())

    return run


def rows_at(content: Any, path: str) -> Iterator[Row]:
    for name in path.split("/"):
        content = (
            [more for one in content for more in one[name]] if isinstance(content, list) else content[name]
        )
    yield from content


def stands_in(line: str, cells: list[str]) -> bool:
    at = 0
    for cell in cells:
        found = line.find(cell, at)
        if found < 0:
            return False
        at = found + len(cell)
    return True


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def check_example(
    example: Example,
    request: pytest.FixtureRequest,
    run_both: Callable[[str], Printed],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Checks that the document of an example has the values of its table, and stands alone."""
    if example.prepare:
        request.getfixturevalue(example.prepare)
    capfd.readouterr()
    printed = run_both(example.line)
    assert printed.ended.exit_code == example.status, printed.ended.output
    # Nothing else is on standard output, not even by code outside Python.
    content = json.loads(printed.ended.stdout, parse_constant=refuse_constant)
    assert capfd.readouterr().out == ""
    assert printed.ended.stdout == json.dumps(content, indent=1) + "\n" or example.format == "stretto-machine"
    assert (content["format"], content["version"]) == (example.format, 1)
    if example.format != "stretto-machine":
        assert list(content)[:3] == ["format", "version", "date"]
        assert content["command"]
    rows = list(rows_at(content, example.rows))
    assert rows
    lines = printed.table.splitlines()
    for row in rows:
        cells = example.cells(row)
        assert any(stands_in(line, cells) for line in lines), (cells, printed.table)
