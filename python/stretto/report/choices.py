# SPDX-License-Identifier: Apache-2.0
"""The report's section on a tuning table: the chosen specs by message size and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.plots.pictures import add_field, new_figure
from stretto.report.inputs import Shape, TableFile, TableRow
from stretto.report.page import Chart, KeyFigure, Section
from stretto.spec.labels import without_parameters
from stretto.studies.figures import file_name
from stretto.support.units import format_bytes, format_nodes, three_digits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    """Returns a map of the choices, with a colour for each algorithm."""
    network = f", {table.network}" if table.network else ""
    caption = (
        f"MPI_{one.call.capitalize()} by {table.mpi}{network}. Hover over a field to see its spec and gain."
    )
    file = f"choices-{one.call}-{file_name(table.mpi)}"
    title = f"{one.call}, {table.mpi}"
    return Chart(identity, title, caption, file, lambda: choice_figure(title, one))


def choice_figure(title: str, one: Choices) -> Figure:
    """Returns a map of choices by size and nodes, with a colour for each algorithm."""
    from matplotlib.patches import Patch  # noqa: PLC0415  loaded with the rest

    algorithms = one.algorithms
    palette = colours(algorithms)
    figure = new_figure(8.2, 1.9 + 0.32 * len(one.shapes))
    figure.suptitle(f"{title}: choices", fontsize=11)
    axes = figure.subplots()
    for place, (shape, line) in enumerate(zip(one.shapes, one.cells, strict=True)):
        for column, row in enumerate(line):
            text = _tip(one, shape, column, row)
            add_field(axes, (column, place), palette[algorithm_of(row)], text)
    axes.set(xlim=(0, len(one.starts)), ylim=(0, len(one.shapes)))
    axes.set_xticks(range(len(one.starts)), [one.size_text(i) for i in range(len(one.starts))], fontsize=8)
    axes.set_yticks([i + 0.5 for i in range(len(one.shapes))], [shape_text(shape) for shape in one.shapes])
    axes.set_xlabel("message size, from")
    figure.legend(
        handles=[Patch(color=palette[name], label=name) for name in algorithms],
        loc="outside lower center",
        ncols=min(4, len(algorithms)),
        frameon=False,
        fontsize=9,
    )
    return figure


def _tip(one: Choices, shape: Shape, column: int, row: TableRow) -> str:
    library = f"\nthe library's algorithm: {row.library}" if row.library else ""
    gain = f"\n{three_digits(row.gain)} times as fast as the MPI default" if row.gain is not None else ""
    return f"{shape_text(shape)}, {one.range_text(column)}\n{row.spec}{library}{gain}"
