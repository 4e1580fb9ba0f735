# SPDX-License-Identifier: Apache-2.0
"""Tables of results on terminals of any width, and in files."""

from __future__ import annotations

import io
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from stretto.support.tables import Column, ResultTable, marked


@dataclass(frozen=True)
class One:
    spec: str
    place: str = "no"
    seconds: str = "1.25 ms"
    prose: str = ""


COLUMNS: list[Column[One]] = [
    marked(lambda one: one.spec == "ring"),
    Column("spec", lambda one: one.spec, left=True, is_key=True),
    Column("in place", lambda one: one.place, left=True),
    Column("time", lambda one: one.seconds),
    Column("max", lambda one: one.seconds, detail=2),
    Column("min", lambda one: one.seconds, detail=1),
    Column("why", lambda one: one.prose, left=True, wraps=True, is_key=True),
]  # fmt: skip


def printed(rows: list[One], width: int | None) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width or 80, force_terminal=width is not None, color_system=None)
    ResultTable(COLUMNS, rows, title="all").print(console)
    lines = file.getvalue().splitlines()
    if width is None:
        assert lines == [line.rstrip() for line in lines], lines
    return [line.rstrip() for line in lines]


def test_what_is_constant_stands_below_the_table() -> None:
    lines = printed([One("ring"), One("swing")], 100)
    assert "in place" not in lines[2]
    assert lines[-1] == "in place: no"
    assert "in place" in printed([One("ring"), One("swing", place="yes")], 100)[2]
    assert "in place" in printed([One("ring")], 100)[2]


def test_what_is_empty_is_left_out() -> None:
    assert "why" not in printed([One("ring"), One("swing")], 100)[2]
    assert "why" in printed([One("ring"), One("swing", prose="because")], 100)[2]


def test_details_are_left_out_where_the_terminal_is_narrow() -> None:
    rows = [One("ring:segment_bytes=128KiB"), One("swing", place="yes")]
    wide, narrow, narrowest = (printed(rows, width) for width in (100, 58, 50))
    assert "max" in wide[2]
    assert ("max" in narrow[2], "min" in narrow[2]) == (False, True)
    assert narrow[-1] == "the terminal is too narrow for: max"
    assert narrowest[-1] == "the terminal is too narrow for: max, min"


def test_a_star_marks_a_row_without_any_colour() -> None:
    lines = printed([One("ring"), One("swing")], 80)
    assert [line.startswith((" *", "*")) for line in lines if "ing " in line] == [True, False]


def test_a_file_has_all_columns_and_no_broken_prose() -> None:
    prose = "a reason of many words " * 20
    lines = printed([One("ring", prose=prose.strip()), One("swing", place="yes")], None)
    assert any(prose.strip() in line for line in lines)
    assert "max" in lines[2]
    assert len(lines[3]) == 100
    assert set(lines[3]) == {" ", "─"}


def test_markup_is_plain_text() -> None:
    assert any("[bold]ring[/]" in line for line in printed([One("[bold]ring[/]")], 80))
    table = ResultTable([Column("spec", lambda _: Text("ring", "bold red"), is_key=True)], [One("ring")])
    file = io.StringIO()
    table.print(Console(file=file))
    assert "ring" in file.getvalue()


@given(
    st.lists(st.text("abcdefghij_:=", min_size=1, max_size=60), min_size=1, max_size=5),
    st.integers(20, 120),
)
def test_no_spec_is_ever_broken(specs: list[str], width: int) -> None:
    lines = printed([One(spec) for spec in specs], width)
    for spec in specs:
        assert any(spec in line for line in lines)
