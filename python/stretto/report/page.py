# SPDX-License-Identifier: Apache-2.0
"""Renders one self-contained HTML page: charts as data for Plotly's JavaScript, tables, and text.

The template escapes all text, and `chart_text` escapes texts in charts, so that text from files is never
taken for markup.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from stretto import _core
from stretto.support.estimates import Estimate
from stretto.support.units import seconds_unit

_FONT = "system-ui, sans-serif"


@dataclass(frozen=True, slots=True)
class Chart:
    """A Plotly chart: traces and layout."""

    id: str
    title: str
    caption: str
    chart: list[dict[str, Any]]
    layout: dict[str, Any]
    height: int = 460
    """Pixels."""
    warnings: Sequence[str] = ()
    """Lines below the title, with what a reader must know before trusting the chart."""

    def __post_init__(self) -> None:
        # JSON has no infinity, but the figures of a damaged file may be infinite.
        object.__setattr__(self, "chart", _finite(self.chart))
        object.__setattr__(self, "layout", _finite(self.layout))


def _finite(value: Any) -> Any:
    """Returns the value with None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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


def chart_text(text: str) -> str:
    """Returns text for a chart, escaped, since Plotly reads tags."""
    return html.escape(text, quote=False)


def layout(**more: Any) -> dict[str, Any]:
    """Returns the layout that all charts share; `more` replaces whole parts of it."""
    common: dict[str, Any] = {
        "font": {"family": _FONT, "size": 13, "color": "#1c2430"},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "margin": {"l": 70, "r": 20, "t": 34, "b": 60},
        "hoverlabel": {"font": {"family": _FONT, "size": 13}, "align": "left"},
        "hovermode": "closest",
    }
    return common | more


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Returns an axis with light lines."""
    common: dict[str, Any] = {
        "title": {"text": chart_text(title), "standoff": 12},
        "gridcolor": "#e6eaee",
        "linecolor": "#9aa5b1",
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": "#9aa5b1",
        "automargin": True,
    }
    return common | more


def seconds_axis(title: str, longest: float) -> tuple[float, dict[str, Any]]:
    """Returns the seconds of a unit, and a linear axis of times in this unit, with ticks as `20 ms`.

    The data must be divided by these seconds.
    """
    factor, unit = seconds_unit(longest)
    return factor, axis(title, ticksuffix=f" {unit}", rangemode="tozero")


def log_axis(
    title: str, values: Iterable[float], text: Callable[[float], str] = "{:.6g}".format
) -> dict[str, Any]:
    """Returns a logarithmic axis with plain numbers at round values, however wide the range is."""
    positive = [value for value in values if value > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8) if high < 12 * low else (1, 2, 5) if high < 1000 * low else (1,)
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return axis(title, type="log", tickvals=ticks, ticktext=[text(tick) for tick in ticks])


def render(title: str, subtitle: str, sections: Sequence[Section], inputs: Sequence[str]) -> str:
    """Returns the HTML of the page."""
    for section in sections:
        section.items = [
            without_empty_columns(item) if isinstance(item, Table) else item for item in section.items
        ]
    parts = files("stretto.report") / "template"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["breakable"] = breakable
    environment.filters["joined"] = lambda text: text.replace(" %", "\N{NO-BREAK SPACE}%")
    template = environment.from_string((parts / "report.html.jinja").read_text(encoding="utf-8"))
    charts = {
        item.id: {"data": item.chart, "layout": item.layout, "height": item.height}
        for section in sections
        for item in section.items
        if isinstance(item, Chart)
    }
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
        plotly=get_plotlyjs(),
        # No text may look like the end of the script.
        charts=json.dumps(charts, allow_nan=False).replace("<", "\\u003c"),
    )
