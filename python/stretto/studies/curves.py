# SPDX-License-Identifier: Apache-2.0
"""The lines of a study's figures, for PNG files and the report: data, labels and styles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.results.runs import Row
from stretto.spec.labels import NATIVE_LABEL, Kind, kind_of, label_of
from stretto.studies.analysis import plain
from stretto.studies.file import StudyRun

# Colours that colour-blind readers can distinguish, by kind: warm ones for the library's own
# algorithms, greens for its non-blocking calls, blues and violets for Stretto's. Markers differ, too.
_COLOURS = {
    Kind.NATIVE: ("#222222",),
    Kind.STRETTO: ("#0072B2",),
    Kind.LIBRARY: ("#D55E00", "#CC79A7", "#B8860B", "#882255", "#E08D60", "#8C4A2F", "#AA4499", "#999933"),
    Kind.PIPELINING: ("#117733", "#1B9E77", "#66A61E", "#99C5A5"),
    Kind.OWN: ("#56B4E9", "#332288", "#9B59B6", "#20808D", "#C77CFF", "#7F8FA6", "#1F4E79", "#B07AA1"),
}
BEST_COLOUR = "#E69F00"
_DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True, slots=True)
class Style:
    """The look of a line."""

    colour: str
    dash: str
    """solid, dash, dot or dashdot."""
    marker: int
    """The number of the marker, from 0. Lines of one kind have different markers."""
    width: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The line of one candidate; rows in ascending order of size."""

    label: str
    kind: Kind | None
    """None for BEST, the fastest candidate of each size."""
    rows: list[Row]
    style: Style


def curves(run: StudyRun, kinds: Iterable[Kind]) -> list[Curve]:
    """Returns a line for each candidate of these kinds, the MPI default first."""
    wanted = list(kinds)
    lines: dict[str, list[Row]] = {}
    for row in plain(run.rows):
        lines.setdefault(row.series.spec, []).append(row)
    result: list[Curve] = []
    counts = dict.fromkeys(Kind, 0)
    for spec in sorted(lines, key=lambda spec: list(Kind).index(kind_of(spec))):
        kind = kind_of(spec)
        number = counts[kind]
        counts[kind] += 1
        if kind in wanted:
            rows = sorted(lines[spec], key=lambda row: row.series.bytes)
            result.append(Curve(label_of(spec), kind, rows, _style(kind, number)))
    return result


def best_curve(run: StudyRun, label: str = "BEST") -> Curve:
    """Returns the line of the fastest candidates, drawn broad and pale so that other lines show through."""
    return Curve(label, None, [one.best for one in run.sizes], Style(BEST_COLOUR, "solid", 0, 8.0))


def _style(kind: Kind, number: int) -> Style:
    colours = _COLOURS[kind]
    strong = kind in (Kind.NATIVE, Kind.STRETTO)
    dash = _DASHES[number // len(colours) % len(_DASHES)]
    return Style(colours[number % len(colours)], dash, number, 2.4 if strong else 1.5)


_LIBRARY_COLOURS = ("#0072B2", "#D55E00", "#117733", "#CC79A7", "#B8860B")


def library_curves(runs: Sequence[StudyRun]) -> list[Curve]:
    """Returns lines of the MPI default, BEST and Stretto for each library, one colour per library."""
    result = []
    for number, run in enumerate(runs):
        colour = _LIBRARY_COLOURS[number % len(_LIBRARY_COLOURS)]
        for kind, name, dash in (
            (Kind.NATIVE, NATIVE_LABEL, "dash"),
            (None, "BEST", "dot"),
            (Kind.STRETTO, "Stretto", "solid"),
        ):
            rows = [
                row
                for size in run.sizes
                if (row := {Kind.NATIVE: size.native, None: size.best, Kind.STRETTO: size.stretto}[kind])
            ]
            if rows:
                width = 2.4 if kind is Kind.STRETTO else 1.6
                result.append(Curve(f"{run.name} {name}", kind, rows, Style(colour, dash, number, width)))
    return result
