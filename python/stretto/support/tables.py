# SPDX-License-Identifier: Apache-2.0
"""Tables of results: one style, readable on a narrow terminal and in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from stretto.support.console import print_lines, standard_output

Row = TypeVar("Row")

_WIDE = 1000
"""Columns of a text that no terminal limits."""
_PAGE = 100
"""Columns of a rule in a file. The texts below it may be longer."""


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table. No number and no name is ever broken or shortened."""

    title: str
    cell: Callable[[Row], str | Text]
    """The text of a row."""
    left: bool = False
    """Whether cells are flush left, as texts are; numbers are flush right."""
    wraps: bool = False
    """Whether its texts are prose, which may continue on the next line."""
    is_key: bool = False
    """Whether it says what the row is about: such a column is always shown."""
    detail: int = 0
    """If above 0, it is left out if the terminal is too narrow, columns with a higher number first."""


class ResultTable(Generic[Row]):
    """A table of rows. Lines below it say what all rows have in common, and what was left out."""

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        rows: Sequence[Row],
        *,
        title: str = "",
        section: Callable[[Row], object] | None = None,
        style: Callable[[Row], str] | None = None,
    ) -> None:
        """`section`: a line separates rows for which it differs; `style`: that of a row, in Rich's words."""
        self.rows = rows
        self._title = title
        self._section = section or (lambda _: None)
        self._style = style or (lambda _: "")
        self._constants: list[str] = []
        self.columns = [one for one in columns if self._varies(one)]

    def print(self, console: Console | None = None) -> None:
        """Print the table and the lines below it, as wide as the terminal or, in a file, as needed."""
        console = console or standard_output()
        shown = list(self.columns)
        if console.is_terminal:
            while self._measure(console, shown).minimum > console.width:
                least = max(reversed(shown), key=lambda one: one.detail)
                if not least.detail:
                    break
                shown.remove(least)
        needed = self._measure(console, shown)
        # Rich would cut cells off; a terminal continues a long line on the next one.
        console.width = max(console.width, needed.minimum if console.is_terminal else needed.maximum)
        if console.is_terminal:
            console.print(self._table(shown))
        else:
            print_lines(_plain_lines(console, self._table(shown)), "", console)
        print_lines(self._constants, console=console)
        left_out = [one.title for one in self.columns if one not in shown]
        if left_out:
            print_lines([f"the terminal is too narrow for: {', '.join(left_out)}"], console=console)

    def _varies(self, column: Column[Row]) -> bool:
        """Whether to show a column; a text that all rows share is kept for the lines below the table."""
        texts = {str(column.cell(row)) for row in self.rows}
        if texts <= {""}:
            return False
        if column.is_key or not column.left or len(texts) > 1 or len(self.rows) == 1:
            return True
        self._constants.append(f"{column.title}: {texts.pop()}")
        return False

    def _table(self, columns: Sequence[Column[Row]]) -> Table:
        table = Table(
            title=self._title or None,
            title_justify="left",
            title_style="bold",
            box=SIMPLE_HEAD,
            header_style="bold",
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for one in columns:
            texts = [one.title, *(one.cell(row) for row in self.rows)]
            table.add_column(
                one.title,
                justify="left" if one.left else "right",
                no_wrap=not one.wraps,
                overflow="fold",
                min_width=None if one.wraps else max(map(_cells_of, texts)),
            )
        for row, after in zip(self.rows, [*self.rows[1:], None], strict=True):
            ends = after is not None and self._section(after) != self._section(row)
            table.add_row(
                *(_as_text(one.cell(row)) for one in columns),
                end_section=ends,
                style=self._style(row) or None,
            )
        return table

    def _measure(self, console: Console, columns: Sequence[Column[Row]]) -> Measurement:
        """The least width at which nothing but prose is broken, and the width at which nothing is."""
        return Measurement.get(console, console.options.update(max_width=_WIDE), self._table(columns))


def _plain_lines(console: Console, table: Table) -> Iterator[str]:
    """Yields the lines of a table without blanks at their ends, and with rules no longer than a page."""
    for segments in console.render_lines(table, pad=False):
        line = "".join(segment.text for segment in segments).rstrip()
        yield line[:_PAGE] if set(line) <= {" ", "─"} else line


def _as_text(cell: str | Text) -> Text:
    return Text(cell) if isinstance(cell, str) else cell


def _cells_of(cell: str | Text) -> int:
    """The characters of the longest line."""
    return max(line.cell_len for line in _as_text(cell).split(allow_blank=True))


def print_rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of texts: the first column is a name, the others are numbers."""

    def column(at: int, title: str) -> Column[Sequence[str]]:
        return Column(title, lambda row: row[at], left=at == 0, is_key=True)

    ResultTable([column(at, title) for at, title in enumerate(titles)], rows).print()


def marked(is_marked: Callable[[Row], bool]) -> Column[Row]:
    """A column that marks rows with a star, so that a file shows it, too."""
    return Column("", lambda row: "*" if is_marked(row) else "", left=True, is_key=True)
