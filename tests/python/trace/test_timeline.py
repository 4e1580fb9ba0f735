# SPDX-License-Identifier: Apache-2.0
"""One call in detail: the times of copies, messages and reductions, and their overlap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex
from tests.python.trace.written import write_trace
from typer.testing import CliRunner

from stretto.cli.main import app
from stretto.plots.style import sequence_colours
from stretto.trace.files import read_folder
from stretto.trace.table import figures_text
from stretto.trace.timeline import Timeline, timeline_of
from stretto.trace.timeline_plot import timelines_figure

Event = dict[str, Any]

BEGIN = 1000.5
"""The begin of the calls."""


def event(category: str, name: str, row: int, begin: float, end: float, **more: Any) -> Event:
    return {
        "ph": "X", "cat": category, "name": name, "pid": 1, "tid": row, "ts": BEGIN + begin,
        "dur": end - begin, "args": more,
    }  # fmt: skip


def collective(begin: float, end: float, sequence: int, spec: str) -> Event:
    return event(
        "collective", "allreduce", 1, begin, end, spec=spec, bytes=2048, communicator="1@a.0", ranks=1,
        sequence=sequence, form="blocking",
    )  # fmt: skip


def copy(to: str, begin: float, end: float, begun: float, **more: int) -> Event:
    row = 999 if to == "host" else 1000
    return event("copy", "a copy", row, begin, end, to=to, bytes=1024, begun_us=BEGIN + begun, **more)


# Two segments, each in a flight, of two rounds.
BY_SEGMENTS = [
    collective(0, 100, 0, "ring:segments=2"),
    copy("host", 0, 20, 0, segment=0),
    copy("host", 20, 40, 1, segment=1),
    event("segment", "segment 0", 2, 0, 60),
    event("wait", "wait for a copy", 2, 0, 20),
    event("round", "round 0", 2, 20, 45),
    event("reduction", "reduction", 2, 40, 45),
    event("round", "round 1", 2, 45, 60),
    event("segment", "segment 1", 3, 2, 80),
    event("wait", "wait for a copy", 3, 2, 40),
    event("round", "round 0", 3, 40, 70),
    event("reduction", "reduction", 3, 66, 70),
    event("round", "round 1", 3, 70, 80),
    copy("device", 60, 75, 60, segment=0),
    copy("device", 80, 95, 80, segment=1),
]
AS_A_WHOLE = [
    collective(200, 300, 1, "native:segments=2"),
    copy("host", 200, 230, 200),
    copy("device", 270, 300, 270),
]
WITHOUT_COPIES = [
    collective(400, 450, 2, "ring"),
    event("segment", "segment 0", 2, 400, 450),
    event("round", "round 0", 2, 400, 440),
    event("round", "round 1", 2, 440, 450),
]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return write_trace(tmp_path, [*BY_SEGMENTS, *AS_A_WHOLE, *WITHOUT_COPIES])


def timelines_of(folder: Path) -> list[Timeline]:
    (trace,) = read_folder(folder).traces
    return [timeline_of(trace, call) for call in trace.calls]


def test_the_parts_of_a_call(job: Path) -> None:
    by_segments, whole, without = timelines_of(job)
    assert [(span.begin, span.segment, span.part, span.row) for span in by_segments.rounds] == [
        (20, 0, 0, 0), (40, 1, 0, 1), (45, 0, 1, 0), (70, 1, 1, 1),
    ]  # fmt: skip
    assert [(one.span.segment, one.begun, one.bytes) for one in by_segments.to_host] == [
        (0, 0, 1024), (1, 1, 1024),
    ]  # fmt: skip
    assert [span.segment for span in by_segments.waits] == [0, 1]
    assert [span.segment for span in by_segments.reductions] == [0, 1]
    assert [one.segments for one in (by_segments, whole, without)] == [2, 0, 1]
    assert [one.is_by_library for one in (by_segments, whole, without)] == [False, True, False]


def test_time_that_overlaps_counts_once(job: Path) -> None:
    its, whole, without = (one.figures for one in timelines_of(job))
    assert (its.call, its.to_host, its.to_device, its.copies) == (100, 40, 30, 70)
    # From 20 to 80. Copies run in it from 20 to 40 and from 60 to 75.
    assert (its.messages, its.reductions, its.both) == (60, 9, 35)
    assert its.overlap == 0.35
    # The library's part lasts from the copy to the host to the copy back.
    assert (whole.copies, whole.messages, whole.both, whole.overlap) == (60, 40, 0, 0)
    assert (without.copies, without.messages, without.both) == (0, 50, 0)


def test_the_line_of_a_call(job: Path) -> None:
    by_segments, whole, without = map(figures_text, timelines_of(job))
    assert by_segments == (
        "100 µs: copies by segments 70.0 µs (to the host 40.0 µs, back 30.0 µs), messages 60.0 µs, "
        "reductions 9.00 µs; copies and messages at once 35.0 µs, 35 % of the call"
    )
    assert whole == (
        "100 µs: copies as a whole 60.0 µs (to the host 30.0 µs, back 30.0 µs), in the MPI library 40.0 µs; "
        "copies and messages at once 0, 0 % of the call"
    )
    assert without == "50.0 µs: no copies, messages 50.0 µs"


def run(*arguments: str) -> Any:
    shown = CliRunner().invoke(app, ["trace", *arguments, "--json"], catch_exceptions=False)
    assert (shown.exit_code, shown.stderr) == (0, "")
    return json.loads(shown.stdout)["timelines"]


def test_the_calls_that_are_drawn(job: Path) -> None:
    picture = job / "a.png"
    drawn = run(str(job), "--png", str(picture))
    assert [(one["sequence"], one["overlap"], one["copied_to_host"]) for one in drawn] == [
        (0, 0.35, 2048), (1, 0.0, 1024),
    ]  # fmt: skip
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [one["sequence"] for one in run(str(job), "--call", "2", "--call", "0:1@a.0")] == [2, 0]
    assert run(str(job)) == []
    write_trace(job, WITHOUT_COPIES)
    assert [one["sequence"] for one in run(str(job), "--png", str(picture))] == [2]


@pytest.mark.parametrize("options", [["--png", "{}/a.png"], ["--call", "0"], ["--rank", "0"]])
def test_a_call_is_described_without_the_tables(job: Path, options: list[str]) -> None:
    words = [word.format(job) for word in options]
    shown = CliRunner().invoke(app, ["trace", str(job), *words], catch_exceptions=False)
    assert "copies and messages at once" in shown.stdout
    assert "slowest collectives" not in shown.stdout
    assert "slowest collectives" in CliRunner().invoke(app, ["trace", str(job)]).stdout


def legend_of(timelines: list[Timeline]) -> list[str]:
    (legend,) = timelines_figure(timelines).legends
    return [text.get_text() for text in legend.get_texts()]


def test_the_legend_has_every_segment_and_colour(job: Path) -> None:
    waits = "a flight waits for the copy of its segment"
    by_segments, whole, _ = timelines_of(job)
    assert legend_of([by_segments]) == ["segment 0", "segment 1", waits]
    assert legend_of([by_segments, whole]) == ["segment 0", "segment 1", "the whole call", waits]


def many_segments(count: int) -> list[Event]:
    return [
        collective(0, 100, 0, "ring"),
        *(event("segment", f"segment {one}", 2 + one, 0, 60) for one in range(count)),
        *(event("round", "round 0", 2 + one, 20, 45) for one in range(count)),
    ]


def test_the_legend_has_the_range_of_many_segments(tmp_path: Path) -> None:
    assert legend_of(timelines_of(write_trace(tmp_path, many_segments(4)))) == [
        f"segment {i}" for i in range(4)
    ]
    assert legend_of(timelines_of(write_trace(tmp_path, many_segments(64)))) == ["segments 0 to 63"]


def test_a_segment_has_one_colour_in_all_panels(tmp_path: Path, job: Path) -> None:
    two = timelines_of(job)[0]
    four = timelines_of(write_trace(tmp_path, many_segments(4)))[0]
    colours = [
        {to_hex(one.get_facecolor()[0]).upper() for one in axes.collections}  # type: ignore[arg-type]
        for axes in timelines_figure([two, four]).axes
    ]
    expected = sequence_colours(4)
    assert set(expected[:2]) <= colours[0]
    assert set(expected) <= colours[1]


def test_a_call_of_the_mpi_library_is_one_bar(tmp_path: Path) -> None:
    (alone,) = timelines_of(write_trace(tmp_path, [collective(0, 100, 0, "native")]))
    assert figures_text(alone) == "100 µs: no copies, in the MPI library 100 µs"
    # The picture prefers a call with more events, if there is one.
    events = [collective(0, 300, 0, "native"), *WITHOUT_COPIES]
    drawn = run(str(write_trace(tmp_path, events)), "--png", str(tmp_path / "a.png"))
    assert [one["sequence"] for one in drawn] == [2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--call", "9"], "--call 9: no collective has that number"),
        (["--call", "0:1@b.0"], "--call 0:1@b.0: no collective has that number"),
        (["--rank", "1"], "--rank 1: the trace has no allreduce 0 of it"),
        (["--png", "a.doc"], "a.doc: expected a name that ends in"),
    ],
)
def test_errors_are_one_line(job: Path, arguments: list[str], message: str) -> None:
    shown = CliRunner().invoke(app, ["trace", str(job), *arguments])
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.startswith(f"stretto: {message}")
    assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "change", [{"args": {}}, {"args": BY_SEGMENTS[1]["args"] | {"begun_us": "0"}}, {"tid": "x"}]
)
def test_events_that_are_not_as_stretto_writes_them(job: Path, change: Event) -> None:
    write_trace(job, [BY_SEGMENTS[0], BY_SEGMENTS[1] | change])
    shown = CliRunner().invoke(app, ["trace", str(job), "--call", "0"])
    assert shown.exit_code == 2
    assert shown.stderr.endswith("an event inside allreduce 0 has an unknown form\n")


def test_a_trace_without_collectives_has_nothing_to_draw(tmp_path: Path) -> None:
    shown = CliRunner().invoke(
        app, ["trace", str(write_trace(tmp_path, [])), "--png", str(tmp_path / "a.png")]
    )
    assert (shown.exit_code, shown.stderr) == (2, "stretto: the trace has no collective to describe\n")


def test_colours_of_a_sequence_differ() -> None:
    for count in (1, 2, 7, 64):
        assert len(set(sequence_colours(count))) == count
