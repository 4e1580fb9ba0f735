# SPDX-License-Identifier: Apache-2.0
"""The files of STRETTO_TRACE, and what `stretto trace` makes of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.python.libraries import on_one_library

from stretto.trace.analysis import join
from stretto.trace.files import read_folder

if TYPE_CHECKING:
    from tests.python.conftest import Runner

RANKS = 3
SPECS = {"allreduce": "ring:segments=3", "bcast": "chain:segments=4:window=2", "reduce": "binomial"}
SEGMENTS = {"allreduce": 3, "bcast": 4, "reduce": 1}
WINDOWS = {"allreduce": 3, "bcast": 2, "reduce": 1}
FORCED = {f"STRETTO_{collective.upper()}": spec for collective, spec in SPECS.items()}
BYTES = 4000
# A call has its own row, and more rows for what is in flight.
ROWS_OF_A_CALL = 1000


class Span(NamedTuple):
    """An event with a duration, in microseconds as the file has them."""

    row: int
    name: str
    begin: Decimal
    end: Decimal
    arguments: dict[str, Any]

    def holds(self, other: Span) -> bool:
        return self.begin <= other.begin and other.end <= self.end

    @property
    def number(self) -> int:
        return int(self.name.split()[1])


def spans_of(path: Path) -> dict[str, list[Span]]:
    """The spans of each category, in the order of their beginning."""
    content = json.loads(path.read_text(), parse_float=Decimal, parse_int=Decimal)
    assert content["otherData"]["complete"] is True
    spans = defaultdict(list)
    for event in content["traceEvents"]:
        if event["ph"] == "X":
            begin = Decimal(event["ts"])
            span = Span(int(event["tid"]), event["name"], begin, begin + event["dur"], event["args"])
            spans[event["cat"]].append(span)
    return {category: sorted(found, key=lambda span: span.begin) for category, found in spans.items()}


def check_apart(spans: list[Span]) -> None:
    """Check that spans of a row do not overlap."""
    by_row = defaultdict(list)
    for span in spans:
        by_row[span.row].append(span)
    for row in by_row.values():
        assert all(before.end <= after.begin for before, after in pairwise(row)), row


def inside(spans: list[Span], outer: Span, rows: range) -> list[Span]:
    return [span for span in spans if span.row in rows and outer.holds(span)]


def check_nesting(spans: dict[str, list[Span]]) -> None:
    """Check that each segment lies in a call and each round in a segment, and that none is missing."""
    for category in ("collective", "segment", "round"):
        check_apart(spans[category])
    segments_seen = rounds_seen = 0
    for call in spans["collective"]:
        rows = range(call.row + 1, call.row + ROWS_OF_A_CALL)
        segments = inside(spans["segment"], call, rows)
        assert sorted(segment.number for segment in segments) == list(range(SEGMENTS[call.name])), call
        assert {segment.row for segment in segments} == set(rows[: WINDOWS[call.name]]), call
        for segment in segments:
            rounds = inside(spans["round"], segment, range(segment.row, segment.row + 1))
            assert [one.number for one in rounds] == list(range(len(rounds))), segment
            # Each round ends where the next begins.
            assert rounds[0].begin == segment.begin
            assert all(before.end == after.begin for before, after in pairwise(rounds)), segment
            rounds_seen += len(rounds)
        segments_seen += len(segments)
    assert segments_seen == len(spans["segment"])
    assert rounds_seen == len(spans["round"])


def test_a_trace_of_all_forms(mpi: Runner, tmp_path: Path) -> None:
    ran = mpi.run([str(mpi.compiled("traced.c"))], ranks=RANKS, more=FORCED, STRETTO_TRACE=str(tmp_path))
    assert ran.right, ran.output
    assert ran.lines == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"rank-{rank}.json" for rank in range(RANKS)]
    for rank in range(RANKS):
        spans = spans_of(tmp_path / f"rank-{rank}.json")
        check_nesting(spans)
        if rank != 0:
            # Two allreduces and a broadcast: each begins before any of them ends.
            under_way = [call for call in spans["collective"] if call.arguments["form"] == "non-blocking"]
            assert len({call.row for call in under_way}) == len(under_way) == 3
            assert max(call.begin for call in under_way) < min(call.end for call in under_way)
        # A ring of three ranks has four rounds.
        ring = [call for call in spans["collective"] if call.name == "allreduce"]
        rounds = [inside(spans["round"], call, range(call.row, call.row + 9)) for call in ring]
        assert [len(one) for one in rounds] == [SEGMENTS["allreduce"] * 2 * (RANKS - 1)] * len(ring)


def test_ranks_of_one_host_have_one_clock(mpi: Runner, tmp_path: Path) -> None:
    ran = mpi.run([str(mpi.compiled("traced.c"))], ranks=RANKS, more=FORCED, STRETTO_TRACE=str(tmp_path))
    assert ran.right, ran.output
    traces = read_folder(tmp_path).traces
    assert [(trace.clock, trace.clock_error) for trace in traces] == [(0, 0.0)] * RANKS


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_clock_that_differs_is_compared(mpi: Runner, tmp_path: Path) -> None:
    """In a time namespace of its own, a rank reads a clock that is ahead by 5000 s."""
    ahead = '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && exec unshare -T --monotonic 5000 --fork "$0"'
    program = ["sh", "-c", f'{ahead}; exec "$0"', str(mpi.compiled("traced.c"))]
    ran = mpi.run(program, ranks=RANKS, more=FORCED, STRETTO_TRACE=str(tmp_path))
    assert ran.right, ran.output
    traces = read_folder(tmp_path).traces
    assert [trace.clock for trace in traces] == [0, 1, 0]
    assert (traces[0].clock_error, traces[2].clock_error) == (0, 0)
    assert traces[1].clock_error > 0
    numbers(tmp_path)


def numbers(folder: Path) -> dict[str, list[tuple[str, int, str]]]:
    """Sequence numbers, collectives and forms of each communicator. Labels differ between jobs only."""
    found = defaultdict(list)
    collectives = join(call for trace in read_folder(folder).traces for call in trace.calls)
    for one in collectives:
        assert one.complete, one
        assert not one.contradicts_clocks, one
        assert len({(call.name, call.spec, call.form, call.bytes) for call in one.calls}) == 1, one
        found[one.last.communicator].append((one.last.name, one.last.sequence, one.last.form))
    return {label: sorted(calls, key=lambda call: call[1]) for label, calls in found.items()}


def test_numbers_are_the_same_on_all_ranks(mpi: Runner, tmp_path: Path) -> None:
    ran = mpi.run([str(mpi.compiled("traced.c"))], ranks=RANKS, more=FORCED, STRETTO_TRACE=str(tmp_path))
    assert ran.right, ran.output
    found = numbers(tmp_path)
    # Persistent calls have their own numbers, since they may be started in any order.
    persistent = {label: calls for label, calls in found.items() if "/" in label}
    assert list(persistent.values()) == [[("allreduce", i, "persistent") for i in range(3)]] * 2
    (world,) = {label.split("/")[0] for label in persistent}
    blocking = [("allreduce", i, "blocking") for i in range(3)] + [("bcast", i, "blocking") for i in (3, 4)]
    assert found.pop(world) == blocking + [("allreduce", i, "non-blocking") for i in (5, 6)]
    others = [calls for label, calls in found.items() if label not in persistent]
    assert sorted(others) == [[("bcast", 0, "non-blocking")], [("reduce", 0, "blocking")]]


def test_what_the_library_carries_out_is_traced(mpi: Runner, tmp_path: Path) -> None:
    native = dict.fromkeys(FORCED, "native")
    ran = mpi.run([str(mpi.compiled("traced.c"))], ranks=RANKS, more=native, STRETTO_TRACE=str(tmp_path))
    assert ran.right, ran.output
    assert ran.lines == []
    traces = read_folder(tmp_path).traces
    assert {call.spec for trace in traces for call in trace.calls} == {"native"}
    # For persistent collectives, the initialization is recorded.
    calls = [(call.name, call.form) for call in traces[0].calls]
    assert calls == [
        *[("allreduce", "blocking")] * 3,
        *[("bcast", "blocking")] * 2,
        *[("allreduce", "non-blocking")] * 2,
        ("bcast", "non-blocking"),
        *[("allreduce", "persistent")] * 2,
        ("reduce", "blocking"),
    ]
    collectives = join(call for trace in traces for call in trace.calls)
    assert all(one.complete and not one.contradicts_clocks for one in collectives)


def test_communicators_that_ranks_use_in_another_order(mpi: Runner, tmp_path: Path) -> None:
    program = [str(mpi.compiled("unusual.c")), "order"]
    ran = mpi.run(program, ranks=RANKS, more=FORCED, STRETTO_TRACE=str(tmp_path))
    assert ran.right, ran.output
    collectives = join(call for trace in read_folder(tmp_path).traces for call in trace.calls)
    assert all(one.complete and not one.contradicts_clocks for one in collectives)


def test_the_command_reads_it(mpi: Runner, tmp_path: Path) -> None:
    ran = mpi.run([str(mpi.compiled("traced.c"))], ranks=RANKS, more=FORCED, STRETTO_TRACE=str(tmp_path))
    assert ran.right, ran.output
    command = [sys.executable, "-m", "stretto", "trace", str(tmp_path), "--json", "--top", "100"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["ranks"], report["missing"], report["complaints"]) == (RANKS, [], [])
    assert report["totals"]["collectives"] == len(report["slowest"]) == 15
    assert report["totals"]["incomplete"] == report["totals"]["contradictions"] == 0
    assert report["totals"]["overlapping"] == 9
    assert {(one["collective"], one["spec"]) for one in report["slowest"]} == set(SPECS.items())
    assert {one["bytes"] for one in report["slowest"]} == {BYTES}
    merged = json.loads((tmp_path / "trace.json").read_text())
    lasting = [event for event in merged["traceEvents"] if event["ph"] == "X"]
    assert len(lasting) == report["events"]
    assert {event["pid"] for event in lasting} == {1, 2, 3}


@pytest.mark.parametrize(
    ("spec", "segments", "by_parts"),
    [("ring:segments=5:window=2", 5, False), ("ring", 1, True), ("native:segments=2", 0, False)],
)
def test_copies_of_device_memory_are_traced(
    mpi: Runner, tmp_path: Path, spec: str, segments: int, by_parts: bool
) -> None:
    stand_in = mpi.compiled("cuda_stand_in.cpp", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1")
    elements = 1 << 18
    program = [str(mpi.compiled("traced_device.cpp")), str(stand_in), str(elements)]
    ran = mpi.run(program, ranks=RANKS, STRETTO_ALLREDUCE=spec, STRETTO_TRACE=str(tmp_path))
    assert ran.right, ran.output
    for rank in range(RANKS):
        spans = spans_of(tmp_path / f"rank-{rank}.json")
        copies = spans.get("copy", [])
        if rank != 1:
            assert copies == []
            continue
        check_apart(copies)
        calls = [one for one in spans["collective"] if one.arguments["bytes"] == 4 * elements]
        assert len(calls) == 2
        for call in calls:
            own = [one for one in copies if call.holds(one)]
            for to in ("host", "device"):
                check_copies([one for one in own if one.arguments["to"] == to], segments, by_parts, call)
            # A segment is sent when its copy has arrived, and copied back when its last round has ended.
            for segment in inside(spans.get("segment", []), call, range(call.row, call.row + 900)):
                rounds = inside(spans["round"], segment, range(segment.row, segment.row + 1))
                waits = inside(spans.get("wait", []), segment, range(segment.row, segment.row + 1))
                assert sum((one.end - one.begin for one in [*rounds, *waits]), Decimal(0)) <= (
                    segment.end - segment.begin
                )
                if not by_parts:
                    there, back = (
                        next(one for one in own if one.arguments["to"] == to and is_of(one, segment.number))
                        for to in ("host", "device")
                    )
                    assert there.end <= rounds[0].end
                    assert back.arguments["begun_us"] >= rounds[-1].end
        reduced = [one for one in spans.get("reduction", []) if calls[0].holds(one)]
        # A ring of three ranks reduces in two of its rounds.
        assert len(reduced) >= 2 * segments
        assert all(
            any(its.holds(one) for its in spans.get("round", []) if its.row == one.row) for one in reduced
        )


def is_of(copy: Span, segment: int) -> bool:
    return bool(copy.arguments["segment"] == segment)


def check_copies(copies: list[Span], segments: int, by_parts: bool, call: Span) -> None:
    """Check the copies of a call in one direction. Without segments, the call is copied as a whole."""
    assert sum(one.arguments["bytes"] for one in copies) == call.arguments["bytes"]
    for one in copies:
        assert call.begin <= one.arguments["begun_us"] <= one.begin <= one.end
        assert ("segment" in one.arguments, "part" in one.arguments) == (segments > 0, by_parts)
    if by_parts:
        parts = [one.arguments["part"] for one in copies]
        assert len(parts) > 1
        assert parts == list(range(len(parts)))
    elif segments > 0:
        assert sorted(one.arguments["segment"] for one in copies) == list(range(segments))
    else:
        assert len(copies) == 1
    if copies[0].arguments["to"] == "host":
        order = [(one.arguments.get("segment", 0), one.arguments.get("part", 0)) for one in copies]
        assert order == sorted(order)


@on_one_library
def test_a_second_job_leaves_nothing_of_the_first(mpi: Runner, tmp_path: Path) -> None:
    program = [str(mpi.compiled("traced.c"))]
    jobs = set()
    for elements in ("1000", "2000"):
        assert mpi.run([*program, elements], ranks=RANKS, STRETTO_TRACE=str(tmp_path)).right
        found = read_folder(tmp_path)
        assert {call.bytes for trace in found.traces for call in trace.calls} == {4 * int(elements)}
        jobs |= {trace.about["job"] for trace in found.traces}
    assert len(jobs) == 2


@on_one_library
def test_links_where_traces_are_written_are_not_followed(mpi: Runner, tmp_path: Path) -> None:
    traces, victim = tmp_path / "traces", tmp_path / "victim"
    traces.mkdir()
    victim.write_text("precious")
    for rank in range(RANKS):
        (traces / f"rank-{rank}.json").symlink_to(victim)
    assert mpi.run([str(mpi.compiled("traced.c"))], ranks=RANKS, STRETTO_TRACE=str(traces)).right
    assert victim.read_text() == "precious"
    assert sorted(file.name for file in traces.iterdir()) == [f"rank-{rank}.json" for rank in range(RANKS)]
    assert not any(file.is_symlink() for file in traces.iterdir())


@on_one_library
def test_a_folder_that_cannot_be_written_to(mpi: Runner) -> None:
    ran = mpi.run([str(mpi.compiled("traced.c"))], ranks=RANKS, STRETTO_TRACE="/nowhere/at/all")
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert "STRETTO_TRACE=/nowhere/at/all: /nowhere/at/all/rank-" in ran.lines[0]
    assert ran.lines[0].endswith(".json cannot be written: No such file or directory")


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one page."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", str(tmp_path)], check=True)
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@on_one_library
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_disk_that_is_full(mpi: Runner, full_disk: Path) -> None:
    ran = mpi.run([str(mpi.compiled("traced.c"))], ranks=RANKS, STRETTO_TRACE=str(full_disk))
    assert ran.right, ran.output
    assert len(ran.lines) == 1, ran.output
    assert ran.lines[0].endswith(".json cannot be written: No space left on device")
    # The files that fit are whole, and nothing is left of the others.
    assert all(file.read_text().endswith("]}\n") for file in full_disk.iterdir())
    assert len(list(full_disk.iterdir())) < RANKS
