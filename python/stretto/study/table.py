# SPDX-License-Identifier: Apache-2.0
"""Tables of `stretto study`: the gains by size, and the ranking of the libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from stretto.results.runs import Row
from stretto.spec.labels import NATIVE_LABEL, STRETTO, label_of
from stretto.study.analysis import MIDDLE, SizeFigures, gain_of, mean_gains, ranking
from stretto.study.file import Study, StudyRun
from stretto.support.units import format_bytes, format_rate, format_seconds, three_digits


def gain_text(row: Row | None) -> str:
    """The gain over the MPI default with its interval: `1.95 (1.90-2.01)`."""
    if row is None:
        return ""
    gain = gain_of(row)
    return f"{three_digits(gain.median)} [dim]({three_digits(gain.low)}-{three_digits(gain.high)})[/]"


def _bound_text(row: Row | None) -> str:
    return "" if row is None or row.bound_share is None else f"{100 * row.bound_share:.0f} %"


def gains_table(run: StudyRun) -> Table:
    """A row for each size: the MPI default's time, and the gains over it."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, title=escape(run.title))
    table.title_justify = "left"
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column(NATIVE_LABEL, justify="right", no_wrap=True)
    has_library = any(one.library for one in run.sizes)
    titles = ["the library's best"] * has_library + ["pipelined", "BEST", "Stretto"]
    for title in titles:
        table.add_column(title, overflow="fold")
        table.add_column("gain (95 %)", justify="right", no_wrap=True)
    has_bound = any(_bound_text(one.stretto) for one in run.sizes)
    if has_bound:
        table.add_column("of bound", justify="right", no_wrap=True)
    for one in run.sizes:
        rows = [*([one.library] if has_library else []), one.pipelining, one.best, one.stretto]
        cells = [format_bytes(one.bytes), format_seconds(one.native.seconds.median)]
        for row in rows:
            text = _best_text(row) if row is one.best else _spec_text(row)
            cells += [escape(text), gain_text(row)]
        table.add_row(*cells, *([_bound_text(one.stretto)] if has_bound else []))
    _add_means(table, run.sizes, has_library, has_bound)
    return table


def _best_text(row: Row) -> str:
    label = label_of(row.series.spec)
    return f"{label} ({row.series.chosen})" if row.series.spec == STRETTO else label


def _spec_text(row: Row | None) -> str:
    if row is None:
        return ""
    return row.series.chosen if row.series.spec == STRETTO else label_of(row.series.spec)


def _add_means(table: Table, sizes: Sequence[SizeFigures], has_library: bool, has_bound: bool) -> None:
    means = mean_gains(sizes)
    values = [*([means.library] if has_library else []), means.pipelining, means.best, means.stretto]
    if all(value is None for value in values):
        return
    table.add_section()
    cells = ["mean", ""]
    for value in values:
        cells += ["", "" if value is None else f"[bold]{three_digits(value)}[/]"]
    table.add_row(*cells, *([""] if has_bound else []))


def ranking_table(runs: Sequence[StudyRun]) -> Table:
    """Time and place of each library by the MPI default, BEST and Stretto."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.title = escape(f"{runs[0].run.collective.function}: the libraries ranked")
    table.title_justify = "left"
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("by")
    for run in runs:
        table.add_column(escape(run.name), justify="right")
    pick: dict[str, Callable[[SizeFigures], Row | None]] = {
        NATIVE_LABEL: lambda one: one.native,
        "BEST": lambda one: one.best,
        "Stretto": lambda one: one.stretto,
    }
    for size in sorted({one.bytes for run in runs for one in run.sizes}):
        table.add_section()
        figures = [next((one for one in run.sizes if one.bytes == size), None) for run in runs]
        for number, (name, row_of) in enumerate(pick.items()):
            places = ranking([row_of(one) if one else None for one in figures])
            table.add_row(
                format_bytes(size) if number == 0 else "",
                name,
                *(
                    f"{format_seconds(place.row.seconds.median)}  {place.rank}." if place else ""
                    for place in places
                ),
            )
    return table


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
