# SPDX-License-Identifier: Apache-2.0
"""Renders one self-contained HTML page of charts, tables and text.

The template escapes all text, and Matplotlib escapes texts in charts, so that text from files is never taken
for markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from stretto import _core
from stretto.plots.pictures import save_figure, svg_text
from stretto.support.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, which is drawn once for the page, and once more if it becomes a file."""

    id: str
    title: str
    caption: str
    file: str
    """The name of its file, without a suffix."""
    draw: Callable[[], Figure]
    warnings: Sequence[str] = ()
    """Lines below the title, with what a reader must know before trusting the chart."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; numbers are aligned to the right."""

    title: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, and its sort key if that is a number."""

    text: str
    sort: float | None = None
    detail: str = ""
    mark: str = ""
    """A CSS class: number, good, bad, or wide for long text."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be sorted by each column, and filtered by columns (`filters` has their indices).

    Each group of rows is sorted by itself. Groups can be filtered as well.
    """

    id: str
    title: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    filters: Sequence[int] = ()
    groups: Sequence[tuple[str, int]] = ()
    """The headings of groups, with the number of rows below each; if empty, one group without a heading."""

    @property
    def parts(self) -> list[tuple[str, Sequence[Sequence[Cell]]]]:
        """The rows by group."""
        parts: list[tuple[str, Sequence[Sequence[Cell]]]] = []
        begin = 0
        for heading, count in self.groups or [("", len(self.rows))]:
            parts.append((heading, self.rows[begin : begin + count]))
            begin += count
        return parts


def without_empty_columns(table: Table) -> Table:
    """Returns the table without columns that are empty in every row."""
    kept = [
        index
        for index in range(len(table.columns))
        if not table.rows or any(row[index].text or row[index].detail for row in table.rows)
    ]
    return replace(
        table,
        columns=[table.columns[index] for index in kept],
        rows=[[row[index] for index in kept] for row in table.rows],
        filters=[kept.index(index) for index in table.filters if index in kept],
    )


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A figure at the top of the page."""

    value: str
    label: str
    warning: bool = False


@dataclass(slots=True)
class Section:
    """A section of the page."""

    id: str
    title: str
    intro: str
    items: list[Chart | Table] = field(default_factory=list)
    figures: list[KeyFigure] = field(default_factory=list)
    """The figures that the section contributes to the top of the page."""


def number(value: float, text: str, detail: str = "", mark: str = "number") -> Cell:
    """Returns a cell that is sorted by its value."""
    return Cell(text, value, detail, mark)


def estimated(estimate: Estimate, mark: str = "number") -> Cell:
    """Returns a cell with a median, and its interval in small type."""
    median, _, interval = estimate.text().partition(" ")
    return number(estimate.median, median, interval, mark)


def breakable(text: str) -> Markup:
    """Returns text that a browser may break after a colon, a comma or a parenthesis, and at spaces."""
    return Markup(re.sub(r"(?<=[:,(])(?=\S)", "<wbr>", str(escape(text))))


def _drawn(chart: Chart) -> Markup:
    return Markup(svg_text(chart.draw()))


def render(title: str, subtitle: str, sections: Sequence[Section], inputs: Sequence[str]) -> str:
    """Returns the HTML of the page."""
    for section in sections:
        section.items = [
            without_empty_columns(item) if isinstance(item, Table) else item for item in section.items
        ]
    parts = files("stretto.report") / "template"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["breakable"] = breakable
    environment.filters["drawn"] = _drawn
    environment.filters["joined"] = lambda text: text.replace(" %", "\N{NO-BREAK SPACE}%")
    template = environment.from_string((parts / "report.html.jinja").read_text(encoding="utf-8"))
    return template.render(
        title=title,
        subtitle=subtitle,
        sections=sections,
        figures=[figure for section in sections for figure in section.figures],
        inputs=inputs,
        version=_core.version(),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        style=(parts / "report.css").read_text(encoding="utf-8"),
        script=(parts / "report.js").read_text(encoding="utf-8"),
    )


def write_charts(sections: Sequence[Section], folder: Path) -> list[Path]:
    """Writes all charts into a folder, for papers. Returns the files."""
    files = []
    for section in sections:
        for chart in section.items:
            if isinstance(chart, Chart):
                file = folder / f"{chart.file}.png"
                save_figure(chart.draw(), file)
                files.append(file)
    return files
