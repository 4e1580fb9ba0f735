# SPDX-License-Identifier: Apache-2.0
"""The report's tables of gains and of libraries ranked."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.report.page import (
    Cell,
    Column,
    Table,
    number,
)
from stretto.results.runs import Row
from stretto.spec.labels import NATIVE_LABEL, STRETTO, label_of
from stretto.study.analysis import SizeFigures, gain_of, ranking
from stretto.study.file import StudyRun
from stretto.support.units import format_bytes, format_seconds, three_digits


def gains_table(identity: str, runs: Sequence[StudyRun]) -> Table:
    """A row for each size of each run."""
    columns = [
        Column("MPI"),
        Column("collective"),
        Column("size", number=True),
        Column(NATIVE_LABEL, number=True),
        Column("pipelined"),
        Column("gain", number=True),
        Column("BEST"),
        Column("gain", number=True),
        Column("Stretto"),
        Column("gain", number=True),
        Column("of bound", number=True),
    ]
    rows = [_gain_cells(run, one) for run in runs for one in run.sizes]
    caption = (
        "Click a heading to sort. Pipelined: the library's non-blocking call, whole or in segments (NBL, "
        "NBLxK), whichever is fastest. Green or red: the whole interval is above 1.03 or below 1/1.03."
    )
    return Table(identity, "", caption, columns, rows, (0, 1, 2))


def _gain_cells(run: StudyRun, one: SizeFigures) -> list[Cell]:
    stretto = one.stretto
    share = stretto.bound_share if stretto else None
    best = label_of(one.best.series.spec)
    if one.best.series.spec == STRETTO:
        best = f"{best} ({one.best.series.chosen})"
    return [
        Cell(f"{run.name},", detail=run.place),
        Cell(run.run.collective.name),
        number(one.bytes, format_bytes(one.bytes)),
        _seconds(one.native.seconds.median),
        Cell(label_of(one.pipelining.series.spec) if one.pipelining else ""),
        _gain(one.pipelining),
        Cell(best, mark="wide"),
        _gain(one.best),
        Cell(stretto.series.chosen if stretto else "", mark="wide"),
        _gain(stretto),
        Cell("") if share is None else number(share, f"{100 * share:.0f} %"),
    ]


def _seconds(seconds: float) -> Cell:
    return number(seconds, format_seconds(seconds))


def _gain(row: Row | None) -> Cell:
    if row is None:
        return Cell("")
    gain = gain_of(row)
    mark = "good" if gain.low > 1.03 else "bad" if gain.high < 1 / 1.03 else "number"
    detail = f"({three_digits(gain.low)} to {three_digits(gain.high)})"
    return number(gain.median, three_digits(gain.median), detail, mark)


def ranking_table(identity: str, runs: Sequence[StudyRun]) -> Table:
    """A row for each size and choice, with the time and rank of each library."""
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
