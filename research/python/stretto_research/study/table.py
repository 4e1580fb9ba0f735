# SPDX-License-Identifier: Apache-2.0
"""Tables of `stretto study`: the gains by size, and the ranking of the libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from stretto.results.runs import Row
from stretto.spec.labels import NATIVE_LABEL, STRETTO, label_of
from stretto.studies.analysis import MIDDLE, SizeFigures, gain_of, mean_gains, ranking
from stretto.studies.file import Study, StudyRun
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bytes, format_percent, format_rate, format_seconds, three_digits


def gain_text(row: Row | None) -> str:
    """Returns the gain over the MPI default with its interval: `1.95 (1.90-2.01)`."""
    return "" if row is None else gain_of(row).text()


def _bound_text(row: Row | None) -> str:
    return "" if row is None or row.bound_share is None else format_percent(row.bound_share)


@dataclass(frozen=True)
class _Way:
    """One way to carry the calls out. Its gains fill two columns."""

    title: str
    row: Callable[[SizeFigures], Row | None]
    mean: float | None
    text: Callable[[Row | None], str]


def gains_table(run: StudyRun) -> ResultTable[SizeFigures | None]:
    """Returns a table with the MPI default's time and the gains over it by size, and a row of means."""
    means = mean_gains(run.sizes)
    ways = [
        _Way("the library's best", lambda one: one.library, means.library, _spec_text),
        _Way("pipelined", lambda one: one.pipelining, means.pipelining, _spec_text),
        _Way("BEST", lambda one: one.best, means.best, _best_text),
        _Way("Stretto", lambda one: one.stretto, means.stretto, _spec_text),
    ]
    has_means = any(way.mean is not None for way in ways)
    return ResultTable(
        [
            Column("size", lambda one: format_bytes(one.bytes) if one else "mean", is_key=True),
            Column(NATIVE_LABEL, lambda one: format_seconds(one.native.seconds.median) if one else ""),
            *(column for at, way in enumerate(ways) for column in _columns_of(way, len(ways) - at)),
            Column("of bound", lambda one: _bound_text(one.stretto) if one else "", detail=1),
        ],
        [*run.sizes, *([None] if has_means else [])],
        title=run.title,
        section=lambda one: one is None,
    )


def _columns_of(way: _Way, detail: int) -> list[Column[SizeFigures | None]]:
    def gain(one: SizeFigures | None) -> str:
        if one is None:
            return "" if way.mean is None else three_digits(way.mean)
        return gain_text(way.row(one))

    def spec(one: SizeFigures | None) -> str:
        return way.text(way.row(one)) if one else ""

    # Stretto and BEST are what the study is about.
    return [
        Column(way.title, spec, left=True, is_key=True, detail=max(0, detail - 2)),
        Column("gain (95 %)", gain, detail=max(0, detail - 2)),
    ]


def _best_text(row: Row | None) -> str:
    if row is None:
        return ""
    label = label_of(row.series.spec)
    return f"{label} ({row.series.chosen})" if row.series.spec == STRETTO else label


def _spec_text(row: Row | None) -> str:
    if row is None:
        return ""
    return row.series.chosen if row.series.spec == STRETTO else label_of(row.series.spec)


_BY: dict[str, Callable[[SizeFigures], Row | None]] = {
    NATIVE_LABEL: lambda one: one.native,
    "BEST": lambda one: one.best,
    "Stretto": lambda one: one.stretto,
}


def ranking_table(runs: Sequence[StudyRun]) -> ResultTable[tuple[int, str]]:
    """Returns a table with each library's time and place, by the MPI default, BEST and Stretto."""
    found = {}
    for size in sorted({one.bytes for run in runs for one in run.sizes}):
        figures = [next((one for one in run.sizes if one.bytes == size), None) for run in runs]
        for name, row_of in _BY.items():
            found[size, name] = ranking([row_of(one) if one else None for one in figures])

    def place_of(at: int) -> Callable[[tuple[int, str]], str]:
        def text(row: tuple[int, str]) -> str:
            place = found[row][at]
            return f"{format_seconds(place.row.seconds.median)}  {place.rank}." if place else ""

        return text

    return ResultTable(
        [
            Column("size", lambda row: format_bytes(row[0]) if row[1] == NATIVE_LABEL else "", is_key=True),
            Column("by", lambda row: row[1], left=True, is_key=True),
            *(Column(run.name, place_of(at)) for at, run in enumerate(runs)),
        ],
        list(found),
        title=f"{runs[0].run.collective.function}: the libraries ranked",
        section=lambda row: row[0],
    )


def notes(study: Study) -> Iterator[str]:
    """Yields the notes below the tables."""
    middle = f"{format_bytes(MIDDLE[0])} to {format_bytes(MIDDLE[1])}"
    yield (
        "gain: times faster than the MPI default, in pairs within one run; BEST: the fastest "
        f"candidate at that size (the best of many, so a little lucky); mean: geometric, {middle}"
    )
    counts = [len(series.seconds) for run in study.runs for series in run.run.series]
    if counts and min(counts) < 6:
        yield "with fewer than 6 repetitions, the interval is the whole range and covers less than 95 %"
    stated = (run for run in study.runs if any(row.bound_share is not None for row in run.rows))
    bound = next((run.bound for run in stated), None)
    if bound:
        yield f"bound: links of {format_rate(bound.rate)}{bound.formula}"
    for run in study.runs:
        if run.run.skipped:
            sizes = ", ".join(format_bytes(size) for size in run.run.skipped)
            yield f"{run.name}: the budget was too short for {sizes}; give a larger --budget"
        if run.incomplete:
            yield f"{run.name}: not all was measured: {run.incomplete}"
    for mpi, error in study.failed:
        yield f"{mpi}: nothing was measured: {error}"
