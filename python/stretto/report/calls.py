# SPDX-License-Identifier: Apache-2.0
"""The report's section on a run: its calls, as STRETTO_STATS counted them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.launch.mpi import library_name
from stretto.report.bars import Bars, Piece, bars_chart
from stretto.report.choices import COLOURS, NATIVE_COLOUR
from stretto.report.inputs import Call, StatisticsFile
from stretto.report.page import (
    Cell,
    Chart,
    Column,
    KeyFigure,
    Section,
    Table,
    number,
)
from stretto.studies.figures import file_name
from stretto.support.units import format_bytes, format_percent, format_place, format_seconds


def sections(found: Sequence[tuple[str, StatisticsFile]]) -> list[Section]:
    """Returns a section with time and calls by collective, size and spec; no section without files."""
    if not found:
        return []
    section = Section(
        "run",
        "Calls of a run",
        "One rank counted these calls while a program ran (STRETTO_STATS). During non-blocking collectives "
        "the program may have computed.",
    )
    for index, (name, run) in enumerate(found):
        section.items.append(time_chart(f"run-{index + 1}", name, run))
        section.items.append(calls_table(f"run-table-{index + 1}", run))
        calls = sum(one.calls for one in run.calls)
        seconds = sum(one.seconds for one in run.calls)
        section.figures.append(
            KeyFigure(
                format_seconds(seconds) if seconds else "0 s",
                f"in {calls:,} collectives of rank {run.measured_on_rank}: {name}",
            )
        )
    return [section]


def size_class(call: Call) -> str:
    """Returns the sizes of a call, as `64 KiB to below 128 KiB`."""
    return f"{format_bytes(call.bytes_from)} to below {format_bytes(call.bytes_below)}"


def by_spec(run: StatisticsFile) -> dict[str, list[Call]]:
    """Returns the calls by spec; the spec with the most time comes first."""
    found: dict[str, list[Call]] = {}
    for call in run.calls:
        found.setdefault(call.spec, []).append(call)
    return dict(sorted(found.items(), key=lambda item: -sum(call.seconds for call in item[1])))


def categories(run: StatisticsFile) -> list[tuple[str, int]]:
    """Returns pairs of collective and size class, ordered by name and size."""
    return sorted({(call.collective, call.bytes_from) for call in run.calls})


def category_text(category: tuple[str, int]) -> str:
    """Returns a collective and size class as text: `allreduce, from 64 KiB`."""
    return f"{category[0]}, from {format_bytes(category[1])}"


def spec_colours(specs: Sequence[str]) -> dict[str, str]:
    """Returns colours by spec; `native` is grey."""
    others = [spec for spec in specs if spec != "native"]
    return {"native": NATIVE_COLOUR} | {spec: COLOURS[i % len(COLOURS)] for i, spec in enumerate(others)}


def time_bars(name: str, run: StatisticsFile) -> Bars:
    """Returns a bar for each collective and size class, divided by spec."""
    total = sum(call.seconds for call in run.calls) or 1.0
    specs = by_spec(run)
    palette = spec_colours(list(specs))
    kinds = []
    for spec, calls in specs.items():
        pieces = [
            Piece(
                category_text((call.collective, call.bytes_from)),
                call.seconds,
                f"{call.collective}, {size_class(call)}\n{spec}"
                f"\n{call.calls:,} calls, {format_seconds(call.seconds)}"
                f" ({format_percent(call.seconds / total, 1)})",
            )
            for call in calls
        ]
        kinds.append((spec, palette[spec], pieces))
    return Bars(name, [category_text(row) for row in categories(run)], kinds)


def time_chart(identity: str, name: str, run: StatisticsFile) -> Chart:
    """Returns a chart with a bar for each collective and size class, divided by spec."""
    where = format_place(run.ranks, run.nodes)
    caption = (
        f"{name}: {where}, {library_name(run.library)}. Time that rank {run.measured_on_rank} spent in "
        "collectives, by collective and size. Colours are specs; grey is the MPI default."
    )
    return bars_chart(identity, f"run-{file_name(Path(name).stem)}", time_bars(name, run), caption)


def calls_table(identity: str, run: StatisticsFile) -> Table:
    """Returns a table with a row for each collective, size class and spec."""
    total = sum(call.seconds for call in run.calls) or 1.0
    rows = [
        [
            Cell(call.collective),
            number(call.bytes_from, size_class(call)),
            Cell(call.spec),
            number(call.calls, f"{call.calls:,}"),
            number(call.bytes, f"{call.bytes:,}"),
            number(call.seconds, format_seconds(call.seconds)),
            number(call.seconds / total, format_percent(call.seconds / total, 1)),
        ]
        for call in sorted(run.calls, key=lambda one: -one.seconds)
    ]
    columns = [
        Column("collective"),
        Column("size", number=True),
        Column("spec"),
        Column("calls", number=True),
        Column("bytes", number=True),
        Column("time", number=True),
        Column("share", number=True),
    ]
    return Table(identity, "", "Share: of the time in all collectives.", columns, rows, (0, 1, 2))
