# SPDX-License-Identifier: Apache-2.0
"""The report's tables of gains, and of the ranks of libraries."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.report.page import (
    Cell,
    Column,
    Table,
    estimated,
    number,
)
from stretto.results.runs import Row
from stretto.spec.labels import NATIVE_LABEL, STRETTO, label_of
from stretto.studies.analysis import SizeFigures, gain_of, ranking
from stretto.studies.file import StudyRun
from stretto.support.units import format_bytes, format_percent, format_seconds


def gains_table(identity: str, runs: Sequence[StudyRun]) -> Table:
    """Returns a table with a row for each size of each run."""
    columns = [
        Column("size", number=True),
        Column(NATIVE_LABEL, number=True),
        Column("pipelined: gain", number=True),
        Column("by"),
        Column("BEST: gain", number=True),
        Column("by"),
        Column("Stretto: gain", number=True),
        Column("by"),
        Column("of bound", number=True),
    ]
    rows = [_gain_cells(one) for run in runs for one in run.sizes]
    caption = (
        "Click a heading to sort. Pipelined: the library's non-blocking call, whole or in segments (NBL, "
        "NBLxK), whichever is fastest. Green or red: the whole interval is above 1.03 or below 1/1.03."
    )
    return Table(identity, "", caption, columns, rows, (0,), [(run.title, len(run.sizes)) for run in runs])


def _gain_cells(one: SizeFigures) -> list[Cell]:
    stretto = one.stretto
    share = stretto.bound_share if stretto else None
    best = label_of(one.best.series.spec)
    if one.best.series.spec == STRETTO:
        best = f"{best} ({one.best.series.chosen})"
    return [
        number(one.bytes, format_bytes(one.bytes)),
        _seconds(one.native.seconds.median),
        _gain(one.pipelining),
        Cell(label_of(one.pipelining.series.spec) if one.pipelining else ""),
        _gain(one.best),
        Cell(best, mark="wide"),
        _gain(stretto),
        Cell(stretto.series.chosen if stretto else "", mark="wide"),
        Cell("") if share is None else number(share, format_percent(share)),
    ]


def _seconds(seconds: float) -> Cell:
    return number(seconds, format_seconds(seconds))


def _gain(row: Row | None) -> Cell:
    if row is None:
        return Cell("")
    gain = gain_of(row)
    mark = "good" if gain.low > 1.03 else "bad" if gain.high < 1 / 1.03 else "number"
    return estimated(gain, mark)


def ranking_table(identity: str, runs: Sequence[StudyRun]) -> Table:
    """Returns a table with a row for each size and choice, with the time and rank of each library."""
    rows = []
    for size in sorted({one.bytes for run in runs for one in run.sizes}):
        figures = [next((one for one in run.sizes if one.bytes == size), None) for run in runs]
        by: dict[str, list[Row | None]] = {
            NATIVE_LABEL: [one.native if one else None for one in figures],
            "BEST": [one.best if one else None for one in figures],
            "Stretto": [one.stretto if one else None for one in figures],
        }
        for name, found in by.items():
            cells = [number(size, format_bytes(size)), Cell(name)]
            for place in ranking(found):
                if place is None:
                    cells.append(Cell(""))
                    continue
                text = f"{format_seconds(place.row.seconds.median)} ({place.rank}.)"
                mark = "good" if place.rank == 1 else "number"
                cells.append(number(place.row.seconds.median, text, mark=mark))
            rows.append(cells)
    columns = [Column("size", number=True), Column("by"), *(Column(run.name, number=True) for run in runs)]
    first = runs[0]
    return Table(
        identity,
        f"{first.run.collective.function}, {first.place}: the libraries ranked",
        "Median times, with the rank among the libraries in parentheses. They ran one after the other, so "
        "small differences mean nothing.",
        columns,
        rows,
        (0, 1),
    )
