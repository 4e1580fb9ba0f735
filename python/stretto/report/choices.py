# SPDX-License-Identifier: Apache-2.0
"""The report's section on a tuning table: the chosen specs by message size and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stretto.report.inputs import Shape, TableFile, TableRow
from stretto.report.page import Chart, KeyFigure, Section, axis, chart_text, layout
from stretto.spec.labels import without_parameters
from stretto.support.units import format_bytes, format_nodes, three_digits

NATIVE_COLOUR = "#c9ced6"
UNMEASURED_COLOUR = "#f4f5f7"
COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9",
    "#D55E00", "#6A51A3", "#999933", "#882255", "#44AA99",
)  # fmt: skip

# The row in places where the table has no entry.
_UNMEASURED = TableRow.model_validate({"from": 0, "spec": "built-in rule"})


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices for one call: rows are shapes; a column begins at each size where some choice changes."""

    call: str
    shapes: list[Shape]
    starts: list[int]
    """The first sizes of columns in bytes, ascending."""
    cells: list[list[TableRow]]
    beyond: frozenset[int] = frozenset()
    """The starts at which a row of the table ends and no other row begins."""

    @property
    def algorithms(self) -> list[str]:
        """The algorithms chosen anywhere, `native` first."""
        found = dict.fromkeys(algorithm_of(row) for line in self.cells for row in line)
        return sorted(found, key=lambda name: (not name.startswith("native"), name))

    def size_text(self, column: int) -> str:
        """Returns the text of a column's tick: the column's first size."""
        start = self.starts[column]
        return f"above {format_bytes(start - 1)}" if start in self.beyond else format_bytes(start)

    def range_text(self, column: int) -> str:
        """Returns the sizes of a column."""
        begin = self.size_text(column)
        if column + 1 == len(self.starts):
            return begin if self.starts[column] in self.beyond else f"{begin} and more"
        after = self.starts[column + 1]
        end = format_bytes(after - 1) if after in self.beyond else f"below {format_bytes(after)}"
        return f"{begin} to {end}"


def algorithm_of(row: TableRow) -> str:
    """Returns the algorithm without parameters, as `smp(ring)`; for `native`, the library's algorithm."""
    name = without_parameters(row.spec)
    return f"native: {row.library}" if name == "native" and row.library else name


def shape_text(shape: Shape) -> str:
    """Returns a shape as text: `8 nodes, ppn 2`."""
    ragged = f"{shape.min_ppn} to " if shape.min_ppn not in (None, shape.ppn) else ""
    modelled = " (modelled)" if shape.modelled else ""
    return f"{format_nodes(shape.nodes)}, ppn {ragged}{shape.ppn}{modelled}"


def choices(table: TableFile) -> list[Choices]:
    """Returns the choices for each call in the table."""
    calls = dict.fromkeys(call for shape in table.shapes for call in shape.calls)
    return [_choices_of(call, [one for one in table.shapes if one.calls.get(call)]) for call in calls]


def _choices_of(call: str, shapes: Iterable[Shape]) -> Choices:
    ordered = sorted(shapes, key=lambda one: (one.ppn, one.nodes))
    rows = [row for shape in ordered for row in shape.calls[call]]
    begins = {0, *(row.bytes for row in rows)}
    beyond = {row.to + 1 for row in rows if row.to is not None} - begins
    starts = sorted(begins | beyond)
    cells = [[_row_at(shape.calls[call], start) for start in starts] for shape in ordered]
    return Choices(call, ordered, starts, cells, frozenset(beyond))


def _row_at(rows: Sequence[TableRow], size: int) -> TableRow:
    row = max((row for row in rows if row.bytes <= size), key=lambda row: row.bytes, default=_UNMEASURED)
    return row if row.to is None or size <= row.to else _UNMEASURED


def colours(algorithms: Sequence[str]) -> dict[str, str]:
    """Returns colours by algorithm; `native` is grey."""
    fixed = {"native": NATIVE_COLOUR, _UNMEASURED.spec: UNMEASURED_COLOUR}
    others = [name for name in algorithms if name not in fixed]
    return fixed | {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(others)}


def sections(tables: Sequence[TableFile]) -> list[Section]:
    """Returns a section with a map for each call of each table; no section without tables."""
    maps = [(table, one) for table in tables for one in choices(table) if one.shapes]
    if not maps:
        return []
    section = Section(
        "choices",
        "Choices",
        "What the tuning table chooses, by message size and nodes. Grey (native): the MPI default, which is "
        "as fast there. Nearly white: not measured; the built-in rule decides. A column begins at the size "
        "below it.",
    )
    for index, (table, one) in enumerate(maps):
        section.items.append(choice_chart(f"choices-{index + 1}", table, one))
    for table in tables:
        measured = sum(1 for shape in table.shapes if not shape.modelled)
        section.figures.append(
            KeyFigure(f"{measured} of {len(table.shapes)}", f"shapes in the table were measured: {table.mpi}")
        )
    return [section]


def choice_chart(identity: str, table: TableFile, one: Choices) -> Chart:
    """Returns a heat map, with a colour for each algorithm."""
    algorithms = one.algorithms
    palette = colours(algorithms)
    count = len(algorithms)
    scale: list[list[Any]] = []
    for index, name in enumerate(algorithms):
        scale += [[index / count, palette[name]], [(index + 1) / count, palette[name]]]
    heat_map = {
        "type": "heatmap",
        "x": [one.size_text(column) for column in range(len(one.starts))],
        "y": [chart_text(shape_text(shape)) for shape in one.shapes],
        "z": [[algorithms.index(algorithm_of(row)) for row in line] for line in one.cells],
        "hovertext": [
            [_hover(one, shape, column, row) for column, row in enumerate(line)]
            for shape, line in zip(one.shapes, one.cells, strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "zmin": -0.5,
        "zmax": count - 0.5,
        "colorscale": scale,
        "xgap": 2,
        "ygap": 2,
        "colorbar": {
            "tickvals": list(range(count)),
            "ticktext": [chart_text(name) for name in algorithms],
            "thickness": 16,
            "lenmode": "pixels",
            "len": max(120, min(34 * count, 90 + 34 * len(one.shapes))),
        },
    }
    plain = {"type": "category", "showgrid": False, "ticks": ""}
    chart_layout = layout(
        xaxis=axis("message size, from", **plain),
        yaxis=axis("", **plain),
    )
    network = f", {table.network}" if table.network else ""
    caption = (
        f"MPI_{one.call.capitalize()} by {table.mpi}{network}. Hover over a field to see its spec and gain."
    )
    height = max(230, 130 + 34 * len(one.shapes), 130 + 24 * count)
    return Chart(identity, f"{one.call}, {table.mpi}", caption, [heat_map], chart_layout, height)


def _hover(one: Choices, shape: Shape, column: int, row: TableRow) -> str:
    library = f"<br>the library's algorithm: {chart_text(row.library)}" if row.library else ""
    gain = f"<br>{three_digits(row.gain)} times as fast as the MPI default" if row.gain is not None else ""
    return (
        f"{chart_text(shape_text(shape))}, {one.range_text(column)}<br>{chart_text(row.spec)}{library}{gain}"
    )
