# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from stretto.cli.main import app
from stretto.support.errors import StrettoError
from stretto.trace.analysis import Call, Collective, covered, join, late_ranks, slowest, sum_up
from stretto.trace.files import read_folder, write_merged
from stretto.trace.table import late_table, missing_text, slowest_table

Event = dict[str, Any]

CLOCK_ERROR = 2.0


def event(rank: int, sequence: int, begin: float, end: float, **more: Any) -> Event:
    args = {
        "spec": "ring:segments=4", "bytes": 1 << 20, "communicator": "8@1f3a.0", "ranks": 3,
        "sequence": sequence, "form": "blocking",
    }  # fmt: skip
    name = more.pop("name", "allreduce")
    return {
        "ph": "X", "cat": "collective", "name": name, "pid": rank, "tid": 0, "ts": begin,
        "dur": end - begin, "args": args | more,
    }  # fmt: skip


def content(rank: int, events: Iterable[Event], about: dict[str, Any]) -> dict[str, Any]:
    names = {"process_name": {"name": f"rank {rank} (node 0)"}, "process_sort_index": {"sort_index": rank}}
    metadata = [
        {"ph": "M", "name": name, "pid": rank, "tid": 0, "args": args} for name, args in names.items()
    ]
    error = 0.0 if rank == 0 else CLOCK_ERROR
    known = {
        "stretto": "0.1.0", "rank": rank, "ranks": 3, "node": rank // 2, "clock": rank,
        "clock_error_us": error,
    }  # fmt: skip
    return {
        "displayTimeUnit": "ms",
        "otherData": known | about,
        "traceEvents": [*metadata, *events],
    }


def write(folder: Path, rank: int, events: Iterable[Event], about: dict[str, Any] | None = None) -> Path:
    path = folder / f"rank-{rank}.json"
    path.write_text(json.dumps(content(rank, events, about or {})), encoding="utf-8")
    return path


def call(rank: int, begin: float, end: float, **more: Any) -> Call:
    known: dict[str, Any] = {
        "clock": rank, "clock_error": 0.0 if rank == 0 else CLOCK_ERROR, "name": "allreduce", "spec": "ring",
        "form": "blocking", "bytes": 8, "communicator": "3@a.0", "ranks": 3, "sequence": 0,
    }  # fmt: skip
    return Call(rank=rank, begin=begin, end=end, **(known | more))


# In 0, rank 2 is late by 900 µs; in 1, rank 1 is late by little more than clock errors; in 2, nobody is late.
JOB = {
    0: [event(0, 0, 0, 1500), event(0, 1, 2000, 4000), event(0, 2, 5000, 5010, spec="native", bytes=8)],
    1: [event(1, 0, 100, 1500), event(1, 1, 2003, 4010), event(1, 2, 5000, 5010, spec="native", bytes=8)],
    2: [event(2, 0, 1000, 1600), event(2, 1, 2000, 4000), event(2, 2, 5000, 5010, spec="native", bytes=8)],
}


@pytest.fixture
def job(tmp_path: Path) -> Path:
    for rank, events in JOB.items():
        write(tmp_path, rank, events)
    return tmp_path


def collectives_of(folder: Path) -> list[Collective]:
    return join(one for trace in read_folder(folder).traces for one in trace.calls)


# Some of these times are within each other's clock errors.
times = (st.integers(0, 8000) | st.integers(0, 10**9)).map(lambda nanoseconds: nanoseconds / 1000)


@st.composite
def jobs(draw: st.DrawFn) -> list[list[Event]]:
    """The events of each rank: collectives of the world, each with some rounds inside."""
    ranks = draw(st.integers(1, 5))
    names = st.sampled_from(["allreduce", "bcast", "allgather"])
    forms = st.sampled_from(["blocking", "non-blocking", "persistent"])
    events: list[list[Event]] = [[] for _ in range(ranks)]
    for sequence in range(draw(st.integers(0, 6))):
        name, form = draw(names), draw(forms)
        for rank, own in enumerate(events):
            begin, took = draw(times), draw(times)
            own.append(event(rank, sequence, begin, begin + took, name=name, form=form, ranks=ranks))
            own += [
                {
                    "ph": "X", "cat": "round", "name": f"round {number}", "pid": rank, "tid": 1,
                    "ts": begin, "dur": took, "args": {},
                }
                for number in range(draw(st.integers(0, 2)))
            ]  # fmt: skip
    return events


def text_of(one: Any) -> str:
    return json.dumps(one, sort_keys=True)


@settings(deadline=None)
@given(jobs(), st.randoms(use_true_random=False))
def test_merging_keeps_every_event_and_orders_them(job: list[list[Event]], shuffler: random.Random) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before: Counter[str] = Counter()
        about = []
        for rank, events in enumerate(job):
            written = content(rank, shuffler.sample(events, len(events)), {"ranks": len(job)})
            (folder / f"rank-{rank}.json").write_text(json.dumps(written), encoding="utf-8")
            before.update(map(text_of, written["traceEvents"]))
            about.append(written["otherData"])
        traces = read_folder(folder).traces
        assert write_merged(traces, folder / "trace.json") == sum(map(len, job))
        first = (folder / "trace.json").read_text(encoding="utf-8")
        shuffler.shuffle(traces)
        write_merged(traces, folder / "trace.json")
        again = (folder / "trace.json").read_text(encoding="utf-8")
    assert first == again
    merged = json.loads(first)
    assert Counter(map(text_of, merged["traceEvents"])) == before
    assert merged["otherData"]["traces"] == about
    kinds = [one["ph"] for one in merged["traceEvents"]]
    assert kinds == sorted(kinds)  # M before X
    timed = [(one["ts"], -one["dur"]) for one in merged["traceEvents"] if one["ph"] == "X"]
    assert timed == sorted(timed)


def calls_of(job: list[list[Event]]) -> list[Call]:
    return [
        call(
            rank, one["ts"], one["ts"] + one["dur"], name=one["name"], form=one["args"]["form"],
            ranks=len(job), sequence=one["args"]["sequence"],
        )
        for rank, events in enumerate(job)
        for one in events
        if one["cat"] == "collective"
    ]  # fmt: skip


@given(jobs())
def test_waiting_and_work_add_up_to_the_total(job: list[list[Event]]) -> None:
    collectives = join(calls_of(job))
    assert sum(len(one.calls) for one in collectives) == len(calls_of(job))
    for one in collectives:
        assert one.complete
        assert one.wait >= 0
        assert one.work >= 0
        assert one.wait + one.work == pytest.approx(one.total)
        assert 0 <= one.wait_share <= 1
        assert (one.lateness is None) == (one.late is None)
        if one.lateness is not None:
            assert 0 < one.lateness <= one.last.begin - one.begin
        assert 0 <= one.waited_alone <= one.waited * (1 + 1e-9)
        assert one.waited <= (one.last.begin - one.begin) * (len(one.calls) - 1) * (1 + 1e-9)


@given(jobs())
def test_all_waiting_is_put_down_to_late_ranks(job: list[list[Event]]) -> None:
    collectives = join(calls_of(job))
    late = late_ranks(collectives)
    assert sum(one.waited for one in late) == pytest.approx(sum(one.waited for one in collectives))
    assert [one.waited for one in late] == sorted((one.waited for one in late), reverse=True)
    totals = sum_up(collectives, range(len(job)))
    assert totals.collectives == len(collectives)
    assert list(totals.inside) == list(range(len(job)))
    for rank, inside in totals.inside.items():
        own = [
            (one.begin, one.end) for collective in collectives for one in collective.calls if one.rank == rank
        ]
        assert inside <= sum(end - begin for begin, end in own) * (1 + 1e-9)
        assert inside >= max((end - begin for begin, end in own), default=0.0) * (1 - 1e-9)
        assert totals.waiting[rank] <= inside * (1 + 1e-9)


@given(jobs(), st.randoms(use_true_random=False))
def test_the_order_of_calls_does_not_matter(job: list[list[Event]], shuffler: random.Random) -> None:
    calls = calls_of(job)
    shuffled = shuffler.sample(calls, len(calls))
    assert join(shuffled) == join(calls)
    assert late_ranks(join(shuffled)) == late_ranks(join(calls))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_overlapping_time_counts_once(intervals: list[tuple[int, int]]) -> None:
    instants = {at for begin, took in intervals for at in range(begin, begin + took)}
    assert covered((float(begin), float(begin + took)) for begin, took in intervals) == len(instants)


def test_the_figures_of_a_job(job: Path) -> None:
    first, second, third = collectives_of(job)
    assert (first.wait, first.work, first.total) == (1000, 600, 1600)
    assert first.wait_share == 0.625
    assert (first.last.rank, first.lateness) == (2, 900)
    assert (first.waited, first.waited_alone) == (1000 + 900, 900 + 900)
    # Clocks cannot tell who came first, so it has the time that rank 1 measured.
    assert (second.wait, second.work, second.late, second.lateness) == (0, 2007, None, None)
    assert (third.wait, third.work) == (0, 10)
    assert slowest([first, second, third], 2) == [second, first]

    (of_two, of_none) = late_ranks([first, second, third])
    assert (of_two.rank, of_two.times, of_two.collectives) == (2, 1, 3)
    assert (of_two.waited, of_two.waited_alone, of_two.worst) == (1900, 1800, first)
    # Rank 1 is 3 µs later than both others: more than the clock error against rank 0, but not against rank 2.
    assert (of_none.rank, of_none.times, of_none.waited) == (None, 1, 3)

    totals = sum_up([first, second, third], range(3))
    assert totals.inside == {0: 3510, 1: 3417, 2: 2610}
    assert totals.waiting == {0: 1003, 1: 900, 2: 0}
    assert totals.waiting_share == pytest.approx(1903 / 9537)
    assert (totals.incomplete, totals.overlapping, totals.contradictions) == (0, 0, 0)
    assert totals.within_clock_errors == 2


def test_slow_collectives_are_found_by_work_not_wait() -> None:
    waited = Collective.of([call(0, 0, 1100, sequence=1), call(1, 1000, 1050, sequence=1)])
    worked = Collective.of([call(0, 2000, 2300, sequence=2), call(1, 2100, 2250, sequence=2)])
    assert (waited.work, worked.work) == (100, 200)
    assert slowest([waited, worked], 10) == [worked, waited]
    (late,) = late_ranks([worked, waited])
    assert (late.rank, late.times, late.worst) == (1, 2, waited)


@pytest.mark.parametrize(("later", "named"), [(4.0, False), (4.5, True)])
def test_a_rank_is_late_only_beyond_the_clock_errors(later: float, named: bool) -> None:
    one = Collective.of([call(1, 10, 50), call(2, 10 + later, 50)])
    assert (one.late is not None) == named
    assert (one.waited > 0) == named
    assert one.is_within_clock_errors != named
    assert (one.wait, one.total) == ((later, 40) if named else (0, 40))


def test_ranks_of_one_host_have_one_clock() -> None:
    calls = [call(rank, 10 + rank / 4, 42, clock=0, clock_error=72_000.0) for rank in range(3)]
    one = Collective.of(calls)
    assert (one.late, one.lateness, one.wait, one.total) == (calls[2], 0.25, 0.5, 32)
    assert one.waited == 0.5 + 0.25
    assert not one.is_within_clock_errors


def test_what_clocks_of_hosts_cannot_tell_is_not_shown() -> None:
    # The clock of ranks 2 and 3 seems to be 44 ms ahead, with an error of 72 ms.
    here = [call(rank, rank, 32, clock=0, clock_error=0.0) for rank in (0, 1)]
    there = [call(rank, 44_000 + 2 * rank, 44_035, clock=2, clock_error=72_000.0) for rank in (2, 3)]
    one = Collective.of([*here, *there])
    assert one.is_within_clock_errors
    assert (one.late, one.lateness, one.wait, one.total) == (None, None, 1, 32)
    # Rank 2 waited for rank 3 at least, whoever was the last.
    assert one.waited == 2
    (late,) = late_ranks([one])
    assert (late.rank, late.waited) == (None, 2)
    assert sum_up([one], range(4)).within_clock_errors == 1
    assert not one.contradicts_clocks


def test_a_rank_that_ends_before_the_last_arrives_did_not_wait() -> None:
    root, waiting, last = call(0, 0, 100, name="bcast"), call(1, 50, 900), call(2, 800, 850)
    one = Collective.of([root, waiting, last])
    assert [one.waiting(each) for each in one.calls] == [0, 750, 0]
    assert one.waited_alone == 750


def test_ranks_that_are_late_together_are_not_named() -> None:
    one = Collective.of([call(0, 0, 900), call(1, 800, 900), call(2, 801, 900)])
    (late,) = late_ranks([one])
    assert (late.rank, late.waited, late.waited_alone) == (None, 801, 0)


def test_one_rank_alone_waits_for_nobody() -> None:
    one = Collective.of([call(0, 5, 5, ranks=1)])
    assert (one.total, one.wait_share, one.late, one.waited) == (0, 0, None, 0)
    assert late_ranks([one]) == []


@pytest.mark.parametrize(
    ("name", "size", "ended", "contradicts"),
    [
        ("allreduce", 8, 90.0, True),
        ("allreduce", 8, 99.0, False),  # within the clock errors
        ("allreduce", 0, 90.0, False),
        ("barrier", 0, 90.0, True),
        ("bcast", 8, 90.0, False),
    ],
)
def test_contradicting_clocks_are_noticed(name: str, size: int, ended: float, contradicts: bool) -> None:
    calls = [call(1, 0, ended, name=name, bytes=size), call(2, 100, 200, name=name, bytes=size)]
    assert Collective.of(calls).contradicts_clocks == contradicts
    assert sum_up(join(calls), [1, 2]).contradictions == contradicts


@pytest.mark.parametrize(("spec", "contradicts"), [("native", False), ("native:segments=2", True)])
def test_native_non_blocking_calls_contradict_no_clocks(spec: str, contradicts: bool) -> None:
    calls = [call(rank, begin, begin + 1, spec=spec, form="non-blocking") for rank, begin in ((1, 0), (2, 9))]
    assert Collective.of(calls).contradicts_clocks == contradicts


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"name": "bcast"}, "is allreduce of 3 ranks on rank 0, but bcast of 3 on rank 1"),
        ({"ranks": 4}, "is allreduce of 3 ranks on rank 0, but allreduce of 4 on rank 1"),
    ],
)
def test_mismatched_calls_are_an_error(other: dict[str, Any], message: str) -> None:
    with pytest.raises(StrettoError, match=f"^collective 0 of communicator 3@a.0 {message}: [^\n]*$"):
        join([call(0, 0, 1), call(1, 0, 1, **other)])


def test_more_calls_than_ranks() -> None:
    with pytest.raises(StrettoError, match="has 1 ranks, but 2 calls"):
        join([call(0, 0, 1, ranks=1), call(1, 0, 1, ranks=1)])


@settings(deadline=None)
@given(st.data())
def test_a_file_cut_off_anywhere_is_named_and_the_others_are_used(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, 0, JOB[0])
        path = write(folder, 1, JOB[1])
        whole = path.read_bytes()
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
        found = read_folder(folder)
    assert [trace.rank for trace in found.traces] == [0]
    (complaint,) = found.complaints
    assert complaint.startswith(f"{path} is not complete JSON")
    assert complaint.endswith("rank 1 is left out: run the job again to include it")
    assert "\n" not in complaint
    assert found.missing == [2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "is not a trace by Stretto: the file is not an object"),
        ("{}", "is not a trace by Stretto: otherData is missing"),
        ("\xff", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"a": NaN}', "is not JSON"),
    ],
)
def test_files_that_are_no_traces_are_left_out(job: Path, text: str, message: str) -> None:
    (job / "rank-1.json").write_bytes(text.encode("latin-1"))
    found = read_folder(job)
    assert [trace.rank for trace in found.traces] == [0, 2]
    assert found.complaints == [
        f"{job}/rank-1.json {message}; rank 1 is left out: run the job again to include it"
    ]
    assert found.missing == []


@pytest.mark.parametrize(
    ("about", "change", "message"),
    [
        ({"rank": 2}, {}, "it is of rank 2"),
        ({"ranks": 1}, {}, "it is of rank 1 of 1"),
        ({"ranks": "3"}, {}, "ranks is not a whole number"),
        ({"ranks": True}, {}, "ranks is not a whole number"),
        ({"clock_error_us": None}, {}, "clock_error_us is not a number"),
        ({"clock_error_us": -1}, {}, "clock_error_us is -1"),
        ({}, {"ts": "0"}, "ts is not a number"),
        ({}, {"ts": 10**400}, "ts is not a number"),
        ({}, {"dur": -1}, "dur is -1"),
        ({}, {"name": 3}, "name is not a text"),
        ({}, {"args": {}}, "spec is missing"),
        ({}, {"args": JOB[1][1]["args"]}, "two collectives have the same communicator and sequence"),
    ],
)
def test_inconsistent_traces_are_left_out(
    job: Path, about: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    write(job, 1, [JOB[1][0] | change, *JOB[1][1:]], about)
    (complaint,) = read_folder(job).complaints
    assert complaint.startswith(f"{job}/rank-1.json is not a trace by Stretto: {message}; rank 1 is left out")


def test_a_file_that_cannot_be_read(job: Path) -> None:
    (job / "rank-1.json").unlink()
    (job / "rank-1.json").mkdir()
    (complaint,) = read_folder(job).complaints
    assert complaint.startswith(f"{job}/rank-1.json cannot be read: Is a directory; rank 1 is left out")


def test_traces_of_two_jobs(job: Path) -> None:
    write(job, 2, JOB[2], {"ranks": 4})
    message = (
        r"holds traces of different jobs: rank-0.json is of a job of 3 ranks, rank-2.json of 4; empty it"
    )
    with pytest.raises(StrettoError, match=message):
        read_folder(job)


def test_traces_of_two_jobs_of_one_size(job: Path) -> None:
    write(job, 0, JOB[0], {"job": "a"})
    write(job, 1, JOB[1], {"job": "a"})
    write(job, 2, JOB[2], {"job": "b"})
    with pytest.raises(StrettoError, match=r"rank-0.json and rank-2.json were written by two jobs; empty it"):
        read_folder(job)


def test_other_files_are_left_alone(job: Path) -> None:
    for name in ("rank-01.json", "rank-x.json", "rank-3.json.part", "trace.json", "a-rank-4.json"):
        (job / name).write_text("nothing")
    assert read_folder(job).complaints == []


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([5], "rank 5 left no trace: it may have been killed before MPI_Finalize"),
        ([1, 2, 3, 5], "ranks 1-3, 5 left no trace: they may have been killed before MPI_Finalize"),
    ],
)
def test_missing_ranks_are_named(ranks: list[int], text: str) -> None:
    assert missing_text(ranks) == text


def test_the_tables_fit_a_hundred_columns() -> None:
    more = {
        "name": "reduce_scatter_block", "spec": "ring:segment_bytes=256KiB", "form": "non-blocking",
        "bytes": (1 << 20) + 1, "communicator": "128@1f3a.0", "ranks": 128, "sequence": 100_000,
    }  # fmt: skip
    one = Collective.of([call(rank, rank * 1000.0, 200_000.0, **more) for rank in range(100)])
    file = io.StringIO()
    console = Console(file=file, width=100, force_terminal=True, color_system=None)
    slowest_table([one]).print(console)
    late_table(late_ranks([one]), {rank: rank // 8 for rank in range(100)}).print(console)
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= 100
    for whole in (
        "reduce_scatter_block", "100000 of 128@1f3a.0", "ring:segment_bytes=256KiB",
        "1048577 B, non-blocking",
        "(100)", "200 ms", "101 ms", "99.0 ms", "50 %", "rank 99", "+49.5 ms", "1 of 1",
    ):  # fmt: skip
        assert any(whole in line for line in lines), whole


def test_the_command_says_what_was_slow_and_who_was_late(job: Path) -> None:
    shown = CliRunner().invoke(app, ["trace", str(job)], catch_exceptions=False)
    assert (shown.exit_code, shown.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    at = lines.index("allreduce 1 MiB 3 2.01 ms 2.01 ms 0 several")
    assert lines[at + 1 : at + 4] == [
        "1 of 8@1f3a.0 ring:segments=4 0 %",
        "allreduce 1 MiB 3 1.60 ms 600 µs 1.00 ms rank 2",
        "0 of 8@1f3a.0 ring:segments=4 62 % +900 µs",
    ]
    assert "2 1 1 of 3 1.90 ms 1.80 ms 1.90 ms, allreduce 0 of 8@1f3a.0" in lines
    assert "several 1 of 3 3.00 µs 3.00 µs, allreduce 1 of 8@1f3a.0" in lines
    assert "hosts' clocks agree to within 2.00 µs; a rank counts as late only beyond that" in lines
    assert any(line.startswith("in 2 collectives the ranks of all hosts arrived closer") for line in lines)
    totals = "3 collectives on 3 ranks; a rank spent 3.42 ms (2.61 ms to 3.51 ms) in them, "
    assert f"{totals}20 % of it waiting for late ranks" in lines
    assert lines[-1].startswith(f"{job}/trace.json: 9 events of 3 ranks; open it in ui.perfetto.dev")
    assert len(json.loads((job / "trace.json").read_text())["traceEvents"]) == 15


def test_json_has_the_same_figures(job: Path, tmp_path: Path) -> None:
    merged = tmp_path / "merged.json"
    arguments = ["trace", str(job), "--json", "--top", "1", "--output", str(merged)]
    shown = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert (shown.exit_code, shown.stderr) == (0, "")
    figures = json.loads(shown.stdout)
    assert not (job / "trace.json").exists()
    assert (figures["trace"], figures["events"], figures["ranks"]) == (str(merged), 9, 3)
    assert (figures["missing"], figures["complaints"], figures["clock_error_us"]) == ([], [], 2)
    (worst,) = figures["slowest"]
    assert worst == {
        "collective": "allreduce", "sequence": 1, "communicator": "8@1f3a.0", "bytes": 1 << 20,
        "spec": "ring:segments=4", "form": "blocking", "ranks": 3, "traced_ranks": 3, "begin_us": 2000,
        "total_us": 2007, "work_us": 2007, "wait_us": 0, "wait_share": 0,
        "last_rank": None, "lateness_us": None,
    }  # fmt: skip
    assert [(one["rank"], one["waited_us"]) for one in figures["late"]] == [(2, 1900), (None, 3)]
    assert figures["totals"]["by_rank"][1] == {"rank": 1, "inside_us": 3417, "waiting_us": 900}


def test_missing_traces_are_named_and_the_others_are_used(job: Path) -> None:
    (job / "rank-1.json").unlink()
    runner = CliRunner()
    shown = runner.invoke(app, ["trace", str(job)])
    assert shown.exit_code == 0
    assert shown.stderr == "stretto: rank 1 left no trace: it may have been killed before MPI_Finalize\n"
    assert "3 collectives without the traces of all ranks" in shown.stdout
    write(job, 1, JOB[1])
    (job / "rank-2.json").write_text("")
    shown = runner.invoke(app, ["trace", str(job), "--json"])
    assert shown.exit_code == 1
    assert shown.stderr.startswith(f"stretto: {job}/rank-2.json is not complete JSON")
    assert json.loads(shown.stdout)["complaints"] == [shown.stderr.removeprefix("stretto: ").rstrip("\n")]


def test_overlapping_collectives_and_wrong_clocks_are_noted(tmp_path: Path) -> None:
    write(tmp_path, 0, [event(0, 0, 0, 10, ranks=2, form="non-blocking")], {"ranks": 2})
    write(tmp_path, 1, [event(1, 0, 500, 600, ranks=2, form="non-blocking")], {"ranks": 2})
    shown = CliRunner().invoke(app, ["trace", str(tmp_path)])
    assert "1 collective not blocking" in shown.stdout
    assert "in 1 collective a rank had its result before another rank began" in shown.stdout


def test_a_job_without_collectives(tmp_path: Path) -> None:
    write(tmp_path, 0, [], {"ranks": 1})
    shown = CliRunner().invoke(app, ["trace", str(tmp_path)])
    assert shown.exit_code == 0
    assert shown.stdout.startswith("0 collectives on 1 rank; a rank spent 0 in them, 0 %")
    merged = json.loads((tmp_path / "trace.json").read_text())
    assert [one["name"] for one in merged["traceEvents"]] == ["process_name", "process_sort_index"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/nowhere"], "{}/nowhere cannot be read: No such file or directory; give the folder"),
        (["{}/a"], "{}/a cannot be read: Not a directory"),
        (["{}/empty"], "{}/empty holds no rank-N.json: run the job with STRETTO_TRACE={}/empty"),
        (["{}/bad"], "{}/bad/rank-0.json is not complete JSON"),
        (["{}/job", "-o", "{}/job/rank-7.json"], "--output {}/job/rank-7.json: a rank's own trace"),
        (["{}/job", "-o", "{}/nowhere/b"], "{}/nowhere/b: there is no folder {}/nowhere"),
        (["{}/job", "--top", "0"], "--top"),
        ([], "DIR"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "a").touch()
    for name in ("empty", "bad", "job"):
        (tmp_path / name).mkdir()
    (tmp_path / "bad/rank-0.json").touch()
    (tmp_path / "bad/rank-1.json").touch()
    write(tmp_path / "job", 0, [], {"ranks": 1})
    shown = CliRunner().invoke(app, ["trace", *(one.format(tmp_path) for one in arguments)])
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.count("\n") == 1
    assert shown.stderr.startswith("stretto: ")
    assert message.replace("{}", str(tmp_path)) in shown.stderr
