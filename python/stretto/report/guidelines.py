# SPDX-License-Identifier: Apache-2.0
"""The report's section on performance guidelines: which of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stretto.report.page import (
    Cell,
    Chart,
    Column,
    KeyFigure,
    Section,
    Table,
    axis,
    chart_text,
    estimated,
    layout,
    number,
)
from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE
from stretto.study.guidelines import TOLERANCE, Check, sizes_of, violations
from stretto.study.guidelines_file import Guidelines, LibraryChecks
from stretto.support.units import format_bytes, three_digits

_SIDES = ((NATIVE, "the library"), (STRETTO, "Stretto"))
# Ratios from 0 to 2; 1 is white.
_COLOURS = ([0, "#2b6a99"], [0.45, "#e4eef5"], [0.5, "#ffffff"], [0.55, "#fdeae4"], [1, "#b3261e"])


def sections(found: Sequence[Guidelines]) -> list[Section]:
    """Returns a section with a chart for each library, and a table of violations; none without checks."""
    libraries = [library for one in found for library in one.libraries if library.checks]
    if not libraries:
        return []
    section = Section(
        "guidelines",
        "Performance guidelines",
        "What users may expect of any MPI library (Träff, Gropp, Thakur, 2010): a collective takes no "
        "longer than other calls that do the same; a short message takes no longer than a long one; and "
        "splitting a message gains nothing. A ratio above 1 breaks a guideline: rewriting the program "
        "would make it faster. Both sides were measured alternately in one run. Copies between calls are "
        "not counted.",
    )
    for index, library in enumerate(libraries):
        section.items.append(ratio_chart(f"guidelines-{index + 1}", library))
    section.items.append(violations_table("violations", libraries))
    for library in libraries:
        counts = [len(violations(library.checks, spec)) for spec, _ in _SIDES]
        section.figures.append(
            KeyFigure(
                f"{counts[0]} → {counts[1]}",
                f"guidelines violated by the MPI library alone → with Stretto: {library.title}",
                counts[1] > 0,
            )
        )
    return [section]


def ratio_chart(identity: str, library: LibraryChecks) -> Chart:
    """Returns a heat map of guidelines by size, for the library and for Stretto side by side."""
    sizes = [format_bytes(size) for size in sizes_of(library.checks)]
    guidelines = list(dict.fromkeys(one.guideline for one in library.checks))
    names = [chart_text(one.text) for one in guidelines]
    data = []
    for index, (spec, _) in enumerate(_SIDES):
        found = {(one.guideline, one.bytes): one for one in library.checks if one.spec == spec}
        cells = [[found.get((one, size)) for size in sizes_of(library.checks)] for one in guidelines]
        data.append(_heat_map(index, sizes, names, cells))
    common = {"showgrid": False, "linecolor": "#dde2e8", "ticks": ""}
    chart_layout = layout(
        xaxis=axis("the MPI library", domain=[0, 0.485], side="top", type="category", **common),
        xaxis2=axis("with Stretto", domain=[0.515, 1], side="top", type="category", anchor="y", **common),
        yaxis=axis("", autorange="reversed", type="category", tickfont={"size": 12}, **common),
        margin={"l": 70, "r": 20, "t": 96, "b": 10},
        coloraxis={
            "colorscale": [list(step) for step in _COLOURS],
            "cmin": 0,
            "cmax": 2,
            "colorbar": {"title": {"text": "ratio"}, "thickness": 12, "tickvals": [0, 0.5, 1, 1.5, 2]},
        },
    )
    caption = (
        f"{library.title}. Time of a guideline's left side divided by that of its right side. Blue: it "
        f"holds; red: it does not; !: violated beyond noise (the whole 95 % interval is above {TOLERANCE})."
    )
    return Chart(identity, library.title, caption, data, chart_layout, 146 + 26 * len(guidelines))


def _heat_map(
    index: int, sizes: list[str], names: list[str], cells: Sequence[Sequence[Check | None]]
) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "x": sizes,
        "y": names,
        "z": [[one.ratio.median if one else None for one in row] for row in cells],
        "text": [
            [f"{three_digits(one.ratio.median)}{' !' if one.violated else ''}" if one else "" for one in row]
            for row in cells
        ],
        "texttemplate": "%{text}",
        "textfont": {"size": 11},
        "hovertext": [[_hover(one) if one else "" for one in row] for row in cells],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "coloraxis": "coloraxis",
        "xgap": 2,
        "ygap": 2,
        "xaxis": "x2" if index else "x",
    }


def _hover(one: Check) -> str:
    return (
        f"{chart_text(one.guideline.text)}, {format_bytes(one.bytes)}"
        f"<br>{one.ratio.text()}"
        f"<br>left: {chart_text(one.left.chosen)}<br>right: {chart_text(one.right.chosen)}"
    )


def violations_table(identity: str, libraries: Sequence[LibraryChecks]) -> Table:
    """Returns a table with a row for each violated guideline."""
    rows = [
        [
            Cell(name),
            Cell(one.guideline.collective),
            number(one.bytes, format_bytes(one.bytes)),
            Cell(one.guideline.text, mark="wide"),
            estimated(one.ratio, "bad"),
            Cell(one.left.chosen, mark="wide"),
            Cell(one.right.chosen, mark="wide"),
        ]
        for library in libraries
        for spec, name in _SIDES
        for one in violations(library.checks, spec)
    ]
    columns = [
        Column("by"),
        Column("collective"),
        Column("size", number=True),
        Column("guideline"),
        Column("ratio", number=True),
        Column("spec on the left"),
        Column("spec on the right"),
    ]
    caption = "Guidelines that are violated beyond noise, with the specs chosen on both sides."
    groups = [
        (library.title, sum(len(violations(library.checks, spec)) for spec, _ in _SIDES))
        for library in libraries
    ]
    groups = [group for group in groups if group[1]]
    return Table(identity, "Violations", caption, columns, rows, (0, 1, 2), groups)
