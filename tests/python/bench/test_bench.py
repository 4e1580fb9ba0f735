# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from stretto import _core
from stretto.bench import targets as bench_targets
from stretto.bench.table import average_lines, notes, results_table
from stretto.cli import bench
from stretto.lab import jobs as lab_jobs
from stretto.lab.links import Links
from stretto.launch import mpi
from stretto.results.runs import FORMS, Extremes, Run, Series, read_events, summarize
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.support.estimates import hidden

if TYPE_CHECKING:
    from tests.python.conftest import MeasuringProgram

ALLREDUCE = COLLECTIVES["allreduce"]
START = {
    "event": "start", "collective": "allreduce", "root": 0,
    "library": "Open MPI v4.1.4", "ranks": 8, "nodes": 8, "ppn": [1] * 8,
    "specs": ["native", "auto"], "sizes": [1024], "type": "float", "stretto": "0.1.0",
}  # fmt: skip
END = {"event": "end"}


def result(spec: str, seconds: list[float], **other: Any) -> dict[str, Any]:
    event = {
        "event": "result", "bytes": 16 << 20, "in_place": False, "spec": spec, "chosen": spec, "inner": 1,
        "seconds": seconds, "correct": True,
    }  # fmt: skip
    return event | other


def lines_of(*events: dict[str, Any]) -> list[str]:
    return [json.dumps(event, separators=(",", ":")) + "\n" for event in events]


def ignore(_done: float, _total: float) -> None:
    pass


NATIVE = result("native", [2.4, 2.5, 2.6, 2.5, 2.5, 2.5])
RING = result("ring", [1.2, 1.25, 1.3, 1.25, 1.25, 1.25])
BAD = result("ring", [1.25] * 6, correct=False)
OVERLAPPED = result(
    "native", [1.0] * 6, form="non-blocking", computation=[1.0] * 6, overlapped=[1.25] * 6
)  # fmt: skip


def test_events_become_a_run() -> None:
    steps: list[tuple[float, float]] = []
    progress = {"event": "progress", "done": 1, "total": 4}
    noise = ["mpirun: hello\n", '{"event":"broken\n', "{}\n"]
    run = read_events(
        [*noise, *lines_of(START, progress, NATIVE, RING, END)], lambda *step: steps.append(step)
    )
    assert steps == [(1, 4)]
    assert run.collective is ALLREDUCE
    assert (run.library, run.ranks, run.nodes, run.type) == ("Open MPI v4.1.4", 8, 8, "float")
    assert [series.spec for series in run.series] == ["native", "ring"]


def test_an_error_of_the_program_is_passed_on() -> None:
    with pytest.raises(StrettoError, match="spec x: no such"):
        read_events(lines_of(START, {"event": "error", "message": "spec x: no such"}), ignore)


def test_a_program_that_ends_early_is_an_error() -> None:
    with pytest.raises(StrettoError, match="ended before its last result"):
        read_events(lines_of(START, NATIVE), ignore)


def test_the_figures_of_a_run() -> None:
    run = read_events(lines_of(START, NATIVE, RING, END), ignore)
    native, ring = summarize(run, LinkBound.for_lab(25e6, ALLREDUCE, [1] * 8))
    assert ring.seconds.median == 1.25
    assert ring.bandwidth.median == (16 << 20) / 1.25
    assert ring.speedup is not None
    assert ring.speedup.median == pytest.approx(2)
    assert ring.bound_share == pytest.approx((16 << 20) / 1.25 / 13.66e6, rel=1e-3)
    assert native.speedup is not None
    assert native.speedup.median == 1


def test_the_first_form_of_native_is_what_all_are_compared_to() -> None:
    forms = [
        result(spec, [seconds] * 6, form=form)
        for spec, seconds in (("native", 2.0), ("ring", 1.0))
        for form in ("non-blocking", "persistent")
    ]
    run = read_events(lines_of(START, *forms, END), ignore)
    rows = summarize(run, None)
    assert run.forms == ["non-blocking", "persistent"]
    assert [row.series.label for row in rows][:2] == ["native (non-blocking)", "native (persistent)"]
    assert [row.speedup.median for row in rows if row.speedup] == [1, 1, 2, 2]
    lines = text_of(run, None)
    assert lines[2] == "16 MiB native (non-blocking) 2.00 s 2.00 2.00 s 2.00 s 8.39 14.7 0"
    assert lines[-2] == "16 MiB ring (persistent) 1.00 s 1.00 1.00 s 1.00 s 16.8 29.4 2.00 0"
    assert lines[-1] == "in place: no"
    assert any("faster than native (non-blocking)" in line for line in notes(run, None, emulated=False))


@pytest.mark.parametrize(
    ("call", "computation", "overlapped", "part"),
    [
        (1.0, 1.0, 1.0, 1.0),
        (1.0, 1.0, 2.0, 0.0),
        (1.0, 1.0, 1.25, 0.75),
        (2.0, 1.0, 2.5, 0.5),  # of the shorter
        (1.0, 2.0, 2.5, 0.5),
        (1.0, 1.0, 0.9, 1.0),
        (1.0, 1.0, 2.5, 0.0),
    ],
)
def test_how_much_is_hidden(call: float, computation: float, overlapped: float, part: float) -> None:
    assert hidden([call] * 6, [computation] * 6, [overlapped] * 6).median == pytest.approx(part)


def test_what_is_hidden_pairs_up_by_repetition() -> None:
    estimate = hidden([1, 10, 1], [1, 10, 1], [1.5, 15, 1.6])
    assert (estimate.median, estimate.low, estimate.high) == pytest.approx((0.5, 0.4, 0.5))


def test_the_link_bound() -> None:
    bound = LinkBound.for_lab(25e6, ALLREDUCE, [1] * 8)
    assert bound.bandwidth(16 << 20) == pytest.approx(13.66e6, rel=1e-3)
    assert bound.bandwidth(1 << 20) is None  # the start of a message passes the token bucket at full speed
    assert LinkBound(25e6, ALLREDUCE, [1] * 8).bandwidth(1 << 20) == bound.bandwidth(16 << 20)
    assert LinkBound(25e6, ALLREDUCE, [8]).bandwidth(16 << 20) is None


@pytest.mark.parametrize(
    ("name", "ppn", "part", "formula"),
    [
        ("allreduce", [2] * 4, 1.5, " · n/(2(n-1)), n = 4 nodes"),
        ("allreduce", [4, 4, 1], 4 / 3, " · n/(2(n-1)), n = 3 nodes"),
        ("bcast", [2] * 4, 1.0, ", 4 nodes"),
        ("reduce", [4, 4, 1], 1.0, ", 3 nodes"),
        ("reduce_scatter", [1] * 8, 7 / 8, " · n/(n-1), n = 8 nodes"),
        ("reduce_scatter_block", [2] * 4, 3 / 4, " · n/(n-1), n = 4 nodes"),
        ("allgather", [4, 4, 1], 8 / 9, " · p/(p-s), p = 9 ranks, s = 1 on the smallest of 3 nodes"),
        ("allgatherv", [1] * 8, 7 / 8, " · n/(n-1), n = 8 nodes"),
        ("alltoall", [2] * 4, 12 / 8, " · p/(s(p-s)), p = 8 ranks, s = 2 on the busiest of 4 nodes"),
        ("alltoallv", [4, 4, 1], 20 / 9, " · p/(s(p-s)), p = 9 ranks, s = 4 on the busiest of 3 nodes"),
        ("alltoallw", [7, 2], 14 / 9, " · p/(s(p-s)), p = 9 ranks, s = 7 on the busiest of 2 nodes"),
        ("gather", [2] * 4, 3 / 4, " · n/(n-1), n = 4 nodes"),
        ("gatherv", [4, 4, 1], 5 / 9, " · p/(p-s), p = 9 ranks, s = 4 on the largest of 3 nodes"),
        ("scatter", [1] * 2, 1 / 2, " · n/(n-1), n = 2 nodes"),
        ("scatterv", [4, 4, 1], 5 / 9, " · p/(p-s), p = 9 ranks, s = 4 on the largest of 3 nodes"),
        ("scan", [2] * 4, 1.0, ", 4 nodes"),
        ("exscan", [4, 4, 1], 1.0, ", 3 nodes"),
    ],
)
def test_what_a_link_must_carry_of_a_message(name: str, ppn: list[int], part: float, formula: str) -> None:
    bound = LinkBound(1514.0, COLLECTIVES[name], ppn)
    assert bound.bandwidth(1 << 20) == pytest.approx(1448 / part)
    assert bound.formula == f" · 1448/1514{formula}"


def test_nothing_is_known_of_what_links_carry_in_a_barrier_or_of_unequal_blocks() -> None:
    assert LinkBound(25e6, COLLECTIVES["barrier"], [1] * 8).bandwidth(1 << 20) is None
    target = replace(bench_targets.own_target(["env"], "openmpi"), rate=25e6)
    for collective, skew, stated in (
        ("alltoallv", None, True),
        ("alltoallv", 0.5, False),
        ("barrier", None, False),
    ):
        run = Run(COLLECTIVES[collective], ranks=8, nodes=8, ppn=[1] * 8, skew=skew)
        assert (bench_targets.link_bound(run, target, None) is not None) == stated
        assert (bench_targets.link_bound(run, target, 25e6) is not None) == stated


@given(st.lists(st.integers(1, 9), min_size=2, max_size=9), st.sampled_from(sorted(COLLECTIVES)))
def test_no_link_must_carry_more_than_all_ranks_of_its_node_have(ppn: list[int], name: str) -> None:
    assert 0 <= COLLECTIVES[name].link_part(ppn) <= max(2, *ppn)
    # On equal nodes it does not matter which is the busiest.
    even = [ppn[0]] * len(ppn)
    ranks = sum(even)
    of_rank = COLLECTIVES["gather"].link_part(even) * ranks
    assert of_rank == pytest.approx(ranks - ppn[0])
    assert COLLECTIVES["alltoall"].link_part(even) * ranks == pytest.approx(ppn[0] * of_rank)


def test_a_message_that_was_cut_to_whole_blocks_has_its_bound() -> None:
    bound = LinkBound.for_lab(25e6, COLLECTIVES["allgather"], [1] * 3)
    assert bound.bandwidth((8 << 20) - 8) is not None
    assert bound.bandwidth(4 << 20) is None


def text_of(run: Run, bound: LinkBound | None) -> list[str]:
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        results_table(summarize(run, bound)).print(console)
    return [" ".join(line.split()) for line in capture.get().splitlines() if line.strip()]


def test_the_table() -> None:
    auto = result("auto", [1.25] * 6, chosen="ring:segments=16", in_place=True)
    run = read_events(lines_of(START, NATIVE, RING, auto, END), ignore)
    header, _, native, ring, chosen = text_of(run, LinkBound.for_lab(25e6, ALLREDUCE, [1] * 8))
    columns = "size in place spec chosen time 95 % min max MB/s bus MB/s speedup (95 %) of bound wrong"
    assert header == columns
    assert native == "16 MiB no native 2.50 s 2.40-2.60 2.40 s 2.60 s 6.71 11.7 49.1 % 0"
    assert ring == "16 MiB no ring 1.25 s 1.20-1.30 1.20 s 1.30 s 13.4 23.5 2.00 98.2 % 0"
    assert chosen == "16 MiB yes auto ring:segments=16 1.25 s 1.25 1.25 s 1.25 s 13.4 23.5 98.2 % 0"


def test_calls_in_place_stand_beside_those_out_of_place() -> None:
    native = [result("native", [2.5] * 6), result("native", [5.0] * 6, in_place=True)]
    ring = [result("ring", [1.25] * 6), result("ring", [1.0] * 6, in_place=True, correct=False, wrong=2)]
    run = read_events(lines_of(START, native[0], ring[0], native[1], ring[1], END), ignore)
    rows = summarize(run, None)
    header, _, first, second = text_of(run, None)
    assert header == (
        "size spec time 95 % min max MB/s bus MB/s speedup (95 %) wrong in place: time in place: MB/s "
        "in place: bus MB/s in place: speedup (95 %) in place: wrong"
    )
    assert first == "16 MiB native 2.50 s 2.50 2.50 s 2.50 s 6.71 11.7 0 5.00 s 3.36 5.87 0"
    assert second == "16 MiB ring 1.25 s 1.25 1.25 s 1.25 s 13.4 23.5 2.00 0 1.00 s 16.8 29.4 5.00 2"
    assert average_lines(rows) == [
        "average bus MB/s: native 11.7, ring 23.5, native in place 5.87, ring in place 29.4"
    ]


def test_the_average_bus_bandwidth_is_over_all_sizes() -> None:
    sizes = [result("ring", [1.0] * 6, bytes=size) for size in (8 << 20, 24 << 20)]
    run = read_events(lines_of(START, *sizes, END), ignore)
    assert average_lines(summarize(run, None)) == ["average bus MB/s: ring 29.4"]
    barrier = read_events(
        lines_of(START | {"collective": "barrier"}, result("ring", [1.0], bytes=0), END), ignore
    )
    assert average_lines(summarize(barrier, None)) == []


def test_the_columns_that_matter_fit_eighty_characters() -> None:
    chosen = "smp_reordered:segment_bytes=128KiB"
    auto = [
        result("auto", [1.25] * 6, chosen=chosen, bytes=size, in_place=False) for size in (1 << 10, 1 << 20)
    ]
    native = [result("native", [2.5] * 6, bytes=size, in_place=False) for size in (1 << 10, 1 << 20)]
    run = read_events(lines_of(START, native[0], auto[0], native[1], auto[1], END), ignore)
    console = Console(width=80, force_terminal=True, color_system=None)
    with console.capture() as capture:
        results_table(summarize(run, None)).print(console)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(chosen in line for line in lines) == 2
    assert lines[-2:] == [
        "in place: no",
        "the terminal is too narrow for: 95 %, min, max, MB/s, bus MB/s, wrong",
    ]


def test_the_extremes_of_a_series() -> None:
    samples = [float(one) for one in range(1, 101)]
    assert Extremes.of(samples) == Extremes(1.0, 100.0, 99.0)
    assert Extremes.of(samples[:99]) == Extremes(1.0, 99.0, None)


@pytest.mark.parametrize(
    ("collective", "factor"),
    [("allreduce", 1.75), ("reduce_scatter", 0.875), ("alltoall", 0.875), ("bcast", 1.0), ("reduce", 1.0)],
)
def test_bus_bandwidth_is_that_of_nccl_tests(collective: str, factor: float) -> None:
    assert COLLECTIVES[collective].bus_factor(8) == factor


def test_wrong_results_are_counted() -> None:
    wrong = result("ring", [1.0] * 6, correct=False, wrong=2)
    _, _, line = text_of(read_events(lines_of(START, wrong, END), ignore), None)
    assert line.endswith(" 2")


def test_the_table_leaves_out_what_nobody_measured() -> None:
    run = read_events(lines_of(START, RING, END), ignore)
    assert text_of(run, None)[0] == "size in place spec time 95 % min max MB/s bus MB/s wrong"


def test_a_barrier_has_no_size() -> None:
    barrier = result("auto", [1.25e-5] * 6, bytes=0, chosen="smp")
    native = result("native", [2.5e-5] * 6, bytes=0)
    run = read_events(lines_of(START | {"collective": "barrier"}, native, barrier, END), ignore)
    header, _, first, second = text_of(run, None)
    assert header == "spec chosen time 95 % min max speedup (95 %) wrong"
    assert first == "native 25.0 µs 25.0 25.0 µs 25.0 µs 0"
    assert second == "auto smp 12.5 µs 12.5 12.5 µs 12.5 µs 2.00 0"
    lines = notes(run, None, emulated=False)
    assert lines[0].startswith("MPI_Barrier, Open MPI v4.1.4, 8 ranks on 8 nodes")
    assert not any("MB/s" in line for line in lines)


def test_notes_say_how_unequal_blocks_are() -> None:
    for name, whose in (("alltoallv", "what a rank has for the next one"), ("gatherv", "rank 0's block")):
        run = read_events(lines_of(START | {"collective": name, "skew": 0.5}, NATIVE, END), ignore)
        assert f", 50 % of the message in {whose}, of float" in notes(run, None, emulated=False)[0]


def test_the_table_of_an_overlap() -> None:
    run = read_events(lines_of(START | {"test_every": 1e-3}, OVERLAPPED, END), ignore)
    header, _, line = text_of(run, None)
    assert header == "size in place spec t_pure (95 %) t_CPU (95 %) t_ovrl (95 %) hidden (95 %)"
    assert line == "16 MiB no native (non-blocking) 1.00 s 1.00 s 1.25 s 75.0 %"
    assert "MPI_Test every 1 ms" in "\n".join(notes(run, None, emulated=False))


@pytest.mark.parametrize(("is_set", "text"), [(True, "STRETTO_PROGRESS_THREAD=1"), (False, "no STRETTO_PRO")])
def test_the_report_says_whether_there_was_a_progress_thread(is_set: bool, text: str) -> None:
    run = read_events(lines_of(START | {"progress_thread": is_set}, OVERLAPPED, END), ignore)
    assert f", {text}" in notes(run, None, emulated=False)[0]


def test_notes_say_what_weighs_on_the_figures() -> None:
    series = [Series(1024, False, "native", "native", 1, [1e-3] * 5, True)]
    run = Run(ALLREDUCE, 0, "MPICH Version: 4.0.2", "0.1.0", 99, 1, [99], "float", series)
    text = "\n".join(notes(run, None, emulated=False))
    assert "fewer than 6 repetitions" in text
    assert "99 ranks share" in text
    run.nodes = 9
    text = "\n".join(notes(run, LinkBound.for_lab(25e6, ALLREDUCE, [11] * 9), emulated=True))
    assert "links of 200mbit · 1448/1514 · n/(2(n-1)), n = 9 nodes, for 4 MiB and more" in text


def test_notes_say_which_call_it_was() -> None:
    run = Run(COLLECTIVES["reduce"], 2, "Open MPI v4.1.4", "0.1.0", 3, 1, [3], "double")
    run.series = [Series(1024, False, "native", "native", 1, [1e-3] * 7, True, with_barrier=True)]
    first, *others = notes(run, None, emulated=False)
    assert first.startswith("MPI_Reduce with root 2 of double, Open MPI v4.1.4, 3 ranks on one node")
    assert any("timed with a barrier after it" in line for line in others)
    run.collective = COLLECTIVES["reduce_scatter"]
    run.series[0] = Series(1024, False, "native", "native", 1, [1e-3] * 7, True)
    first, *others = notes(run, None, emulated=False)
    assert first.startswith("MPI_Reduce_scatter of double")
    assert not any("barrier" in line for line in others)
    assert any("message (a rank's input)" in line for line in others)


app = typer.Typer(pretty_exceptions_enable=False)
app.command()(bench.bench)


def invoke(*arguments: str, collective: str = "allreduce") -> str:
    # An app with one command takes no command name.
    done = CliRunner().invoke(app, [collective, *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


OWN = ("--mpi", "openmpi", "--", "env", "RANKS=8")


def test_all_outputs_of_one_run(program: MeasuringProgram, tmp_path: Path) -> None:
    program.let_print(START, NATIVE, RING, END)
    files = [str(tmp_path / name) for name in ("a.json", "a.csv", "a.png")]
    outputs = ("-o", files[0], "--csv", files[1], "--png", files[2])
    text = invoke("--specs", "native,ring", "--sizes", "16MiB", "--link-rate", "200mbit", *outputs, *OWN)
    assert "98.2 %" in text

    report = json.loads(Path(files[0]).read_text())
    assert report["collective"] == "allreduce"
    assert report["root"] is None
    assert report["mpi"] == "Open MPI v4.1.4"
    assert report["machine"]["cores"] == len(os.sched_getaffinity(0))
    assert report["results"][1]["seconds"] == RING["seconds"]
    assert report["results"][1]["speedup"]["median"] == pytest.approx(2)

    with Path(files[1]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["spec"] for row in rows] == ["native", "ring"]
    assert rows[1]["collective"] == "allreduce"
    assert rows[1]["bytes"] == str(16 << 20)
    assert float(rows[1]["speedup"]) == pytest.approx(2)
    assert float(rows[1]["bound_share"]) == pytest.approx(0.982, abs=1e-3)
    assert Path(files[2]).read_bytes().startswith(b"\x89PNG")


def test_all_outputs_of_an_overlap(program: MeasuringProgram, tmp_path: Path) -> None:
    program.let_print(START | {"progress_thread": True, "test_every": 1e-3}, OVERLAPPED, END)
    files = [str(tmp_path / name) for name in ("a.json", "a.csv", "a.png")]
    outputs = ("-o", files[0], "--csv", files[1], "--png", files[2])
    invoke("--overlap", "--test-every", "1ms", "--specs", "native", *outputs, *OWN)
    arguments = program.arguments
    assert "--forms non-blocking --overlap yes --test-every 0.001" in arguments

    report = json.loads(Path(files[0]).read_text())
    assert (report["progress_thread"], report["test_every"]) == (True, 1e-3)
    (only,) = report["results"]
    assert only["form"] == "non-blocking"
    assert only["overlap"]["hidden"]["median"] == pytest.approx(0.75)
    assert only["overlap"]["overlapped_seconds"] == OVERLAPPED["overlapped"]

    with Path(files[1]).open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["form"], row["computation_seconds"], row["hidden"]) == ("non-blocking", "1", "0.75")
    assert Path(files[2]).read_bytes().startswith(b"\x89PNG")


def test_settings_reach_the_ranks_on_all_nodes_of_a_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    state = SimpleNamespace(links=Links.even(2, "200mbit"))
    monkeypatch.setattr(bench_targets, "Lab", lambda _: SimpleNamespace(require=lambda: state))
    jobs: list[lab_jobs.Job] = []
    monkeypatch.setattr(lab_jobs, "start", lambda _lab, _install, job, **_: jobs.append(job))
    monkeypatch.setenv("STRETTO_PROGRESS_THREAD", "1")
    bench_targets.lab_target("any", "openmpi", "ucx", 1, None).start(["program"])
    assert jobs[0].variables["STRETTO_PROGRESS_THREAD"] == "1"
    assert "STRETTO_LIB_DIR" not in jobs[0].variables


def test_the_program_gets_the_options_and_no_other_choice(
    program: MeasuringProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [*(one.upper() for one in _core.collectives()), "DISABLE", "REPRODUCIBLE", "TOPOLOGY"]
    variables = [f"STRETTO_{other}" for other in others]
    for variable in variables:
        monkeypatch.setenv(variable, "x")
    program.let_print(START, NATIVE, END)
    sizes = ("--sizes", "8,1KiB..4KiB:4", "--in-place", "both", "--type", "double", "--repetitions", "20")
    invoke("--specs", "native, ring,native", *sizes, *OWN)
    arguments = program.arguments
    assert arguments.startswith("openmpi ")
    assert "--collective allreduce --specs native,ring --sizes 8,1024,4096 " in arguments
    assert "--in-place both --root 0 --type double " in arguments
    assert "--repetitions 20 " in arguments
    assert "--forms blocking --overlap no --test-every 0" in arguments
    environment = program.environment
    assert "RANKS=8" in environment
    assert not [variable for variable in variables if f"{variable}=" in environment]
    assert all(os.environ[variable] == "x" for variable in variables)


def test_specs_of_the_collective_that_is_asked_for(program: MeasuringProgram) -> None:
    program.let_print(START | {"collective": "reduce", "root": 3}, NATIVE, END)
    text = invoke("--specs", "native,auto,knomial:radix=4,native", "--root", "3", *OWN, collective="reduce")
    assert "MPI_Reduce with root 3" in text
    arguments = program.arguments
    assert "--collective reduce --specs native,auto,knomial:radix=4 " in arguments
    assert "--root 3 " in arguments


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        (["-b", "8", "-e", "128", "-f", "4"], "8,32,128"),
        (["-b", "64K", "-e", "256k"], "65536,131072,262144"),
        (["--min-bytes", "1M"], str(1 << 20)),
        (["-b", "1KB", "-e", "2KB"], "1000,2000"),
        ([], "1024,4096,16384,65536,262144,1048576,4194304,16777216"),
    ],
)
def test_sizes_as_nccl_tests_takes_them(program: MeasuringProgram, options: list[str], sizes: str) -> None:
    program.let_print(START, NATIVE, END)
    invoke("--specs", "native", *options, *OWN)
    assert f"--sizes {sizes} " in program.arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "8", "-b", "8"], "--sizes 8: give either it or -b, -e and -f"),
        (["-e", "8"], "-e and -f need -b, the least size"),
        (["-b", "8", "-e", "4"], "expected A..B"),
    ],
)
def test_sizes_that_do_not_fit_together(options: list[str], message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        invoke("--specs", "native", *options, *OWN)


def test_commas_in_parentheses_are_of_a_spec(program: MeasuringProgram) -> None:
    program.let_print(START, NATIVE, END)
    specs = "native,reduce_broadcast(binomial,chain),smp(ring):segments=4"
    invoke("--specs", specs, *OWN)
    assert f"--specs {specs} " in program.arguments


def test_reduce_scatter_block_has_the_algorithms_of_reduce_scatter(program: MeasuringProgram) -> None:
    program.let_print(START | {"collective": "reduce_scatter_block"}, NATIVE, END)
    invoke("--specs", "ring", *OWN, collective="reduce_scatter_block")


@pytest.mark.parametrize(
    ("collective", "arguments", "message"),
    [
        ("allscatter", [], "there is no collective 'allscatter'; there are allreduce, bcast"),
        ("barrier", ["--in-place", "yes"], "--in-place yes: MPI_Barrier has no in-place form"),
        ("barrier", ["--png", "a.png"], "--png a.png: MPI_Barrier has no message size to draw over"),
        ("alltoall", ["--skew", "0.5"], "--skew 0.5: MPI_Alltoall does not take a length for each rank"),
        ("bcast", ["--in-place", "both"], "--in-place both: MPI_Bcast has no in-place form"),
        ("allgather", ["--root", "1"], "--root 1: MPI_Allgather has no root"),
        ("bcast", ["--specs", "native,rabenseifner"], "no bcast algorithm"),
    ],
)
def test_what_a_collective_does_not_have(
    program: MeasuringProgram, collective: str, arguments: list[str], message: str
) -> None:
    program.let_print(START, END)
    with pytest.raises(StrettoError, match=message):
        invoke(*arguments, *OWN, collective=collective)


def test_a_wrong_result_is_loud(program: MeasuringProgram) -> None:
    program.let_print(START, NATIVE, BAD, END, then="exit 1")
    with pytest.raises(StrettoError, match="WRONG RESULTS of ring at 16 MiB"):
        invoke("--specs", "native,ring", *OWN)


def test_a_launcher_that_fails_after_all_is_an_error(program: MeasuringProgram) -> None:
    program.let_print(START, NATIVE, END, then="exit 7")
    with pytest.raises(StrettoError, match="ended with status 7"):
        invoke("--specs", "native", *OWN)


def test_a_library_that_does_not_end_is_stopped(
    program: MeasuringProgram, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program.let_print(START, NATIVE, END, then="exec sleep 1000")
    monkeypatch.setattr(bench_targets, "_END_SECONDS", 0.2)
    target = bench_targets.own_target(["env"], "openmpi")
    run = bench_targets.measure(target, [], ignore)
    assert len(run.series) == 1
    assert "did not end" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "4x"], "'4x' is not a size"),
        (["--specs", "native,,ring"], "single commas"),
        (["--specs", "native,rong"], "rong"),
        (["--forms", "blocking,,persistent"], "expected some of blocking, non-blocking, persistent"),
        (["--forms", "eager"], "expected some of blocking, non-blocking, persistent"),
        (["--overlap", "--forms", "persistent,blocking"], "nothing overlaps with a blocking call"),
        (["--overlap", "--test-every", "1"], "'1' is not a time"),
        (["--test-every", "1ms"], "--test-every needs --overlap"),
        (["-o", "/nowhere/a.json"], "there is no folder /nowhere"),
        (["--link-rate", "fast"], "'fast' is not a link rate"),
        (["--mpi", "lam"], "--mpi lam: there is no such MPI"),
        (["--mpi", "lam", "--", "env"], "--mpi lam: there is no such MPI"),
        (["--", "env"], "env: its MPI library is not known"),
        (["--lab", "--", "env"], "give --lab or -- LAUNCHER"),
        (["--mpi", "openmpi", "--", "/nowhere/mpirun"], "/nowhere/mpirun could not be started"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    program: MeasuringProgram, arguments: list[str], message: str
) -> None:
    program.let_print(START, END)
    with pytest.raises(StrettoError, match=message):
        invoke(*arguments)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_the_measuring_program_on_two_ranks(name: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    options = ("--specs", "native,ring,ring:segments=3,auto", "--sizes", "1,24,1MiB", "--in-place", "both")
    invoke("--mpi", name, *options, "-o", str(file), "--repetitions", "3", "--type", "double")
    report = json.loads(file.read_text())
    results = report["results"]
    assert [result["bytes"] for result in results] == [size for size in (8, 24, 1 << 20) for _ in range(8)]
    assert all(result["correct"] for result in results)
    assert {result["inner"] for result in results if result["bytes"] == 1 << 20} <= set(range(1, 1000))
    assert all(len(result["seconds"]) >= 3 for result in results)
    assert all(0 < second < 10 for result in results for second in result["seconds"])


SPECS = {
    "allreduce": "ring", "bcast": "chain", "reduce": "chain", "reduce_scatter": "ring", "allgather": "ring",
    "alltoall": "bruck", "alltoallv": "pairwise", "gather": "binomial", "gatherv": "linear",
    "scatter": "binomial", "scatterv": "linear", "scan": "chain", "exscan": "recursive_doubling",
    "barrier": "dissemination",
}  # fmt: skip
EQUAL_BLOCKS = (
    "reduce_scatter_block", "allgather", "alltoall", "alltoallv", "alltoallw", "gather", "scatter",
)  # fmt: skip


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
@pytest.mark.parametrize("collective", [name for name, one in COLLECTIVES.items() if one.has_lengths])
def test_the_measuring_program_skews_blocks(name: str, collective: str) -> None:
    target = bench_targets.local_target(name, 3)
    what = ["--collective", collective, "--in-place", "both", "--sizes", "12,30000", "--repetitions", "2"]
    specs = ["--specs", f"native,{SPECS[COLLECTIVES[collective].algorithms]}", "--warmup", "1"]
    for skew in ("0", "0.4", "1"):
        run = bench_targets.measure(target, [*what, *specs, "--skew", skew], ignore)
        assert run.skew == float(skew)
        assert len(run.series) == 8
        assert all(series.correct for series in run.series)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_measuring_program_checks_every_collective(name: str, collective: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    # MPICH 4.0.2 crashes in its own in-place MPI_Reduce from some KiB on, if the root is not 0.
    root = 0 if (name, collective) == ("mpich", "reduce") else 1
    rooted = ("--root", str(root)) if COLLECTIVES[collective].has_root else ()
    in_place = "both" if COLLECTIVES[collective].goes_in_place else "no"
    spec = SPECS[COLLECTIVES[collective].algorithms]
    options = ("--specs", f"native,auto,{spec}", "--sizes", "1,40,30000", "--in-place", in_place, "--np", "3")
    measured = ("-o", str(file), "--repetitions", "3")
    text = invoke("--mpi", name, *options, *rooted, *measured, collective=collective)
    assert COLLECTIVES[collective].function in text
    report = json.loads(file.read_text())
    assert report["collective"] == collective
    assert report["root"] == (root if rooted else None)
    results = report["results"]
    cut = collective in EQUAL_BLOCKS
    sizes = {0} if collective == "barrier" else {12, 36, 30000} if cut else {4, 40, 30000}
    assert {result["bytes"] for result in results} == sizes
    assert len(results) == 3 * len(sizes) * (2 if in_place == "both" else 1)
    assert all(result["correct"] for result in results)
    assert all(result["with_barrier"] for result in results if rooted)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_measuring_program_checks_every_form(name: str, collective: str, tmp_path: Path) -> None:
    # From the second start on, MPICH 4.0.2's persistent allgather, gather and scatter lose others' blocks.
    is_wrong = name == "mpich" and collective in ("allgather", "gather", "scatter")
    forms = FORMS[:2] if is_wrong else FORMS
    in_place = "both" if COLLECTIVES[collective].goes_in_place else "no"
    spec = SPECS[COLLECTIVES[collective].algorithms]
    if spec in ("chain", "ring"):
        spec += ":segments=2"
    options = ("--specs", f"native,auto,{spec}", "--forms", ",".join(forms), "--in-place", in_place)
    file = tmp_path / "a.json"
    measured = ("--sizes", "8,30000", "-o", str(file), "--repetitions", "3", "--warmup", "1")
    text = invoke("--mpi", name, *options, *measured, collective=collective)
    assert "no STRETTO_PROGRESS_THREAD" in text
    results = json.loads(file.read_text())["results"]
    sizes = 1 if collective == "barrier" else 2
    assert [result["form"] for result in results] == [*forms] * (3 * sizes * (2 if in_place == "both" else 1))
    assert all(result["correct"] for result in results)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_the_measuring_program_overlaps(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_PROGRESS_THREAD", "1")
    file = tmp_path / "a.json"
    options = ("--overlap", "--test-every", "20us", "--specs", "native,ring", "--warmup", "1")
    measured = ("--sizes", "64KiB", "--forms", "non-blocking,persistent", "--repetitions", "3")
    invoke("--mpi", name, *options, *measured, "-o", str(file))
    report = json.loads(file.read_text())
    assert report["progress_thread"] is True
    assert report["test_every"] == pytest.approx(20e-6)
    for result in report["results"]:
        assert result["correct"]
        assert 0 <= result["overlap"]["hidden"]["low"] <= result["overlap"]["hidden"]["high"] <= 1
        samples = [
            result["seconds"],
            *(result["overlap"][f"{one}_seconds"] for one in ("computation", "overlapped")),
        ]
        assert {len(one) for one in samples} == {3}
        assert all(0 < second < 10 for one in samples for second in one)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_the_measuring_program_takes_mockups_in_turns(name: str) -> None:
    mockups = ["gather+bcast", "alltoall", "scatter+scatterv/2", "allgather/2+allgather/2"]
    options = ["--specs", "native,auto", "--sizes", "1000,30000", "--repetitions", "3", "--warmup", "1"]
    what = ["--collective", "allgather", "--mockups", ",".join(mockups)]
    run = bench_targets.measure(bench_targets.local_target(name, 3), [*what, *options], ignore)
    assert all(series.correct for series in run.series)
    # Messages are whole blocks for all ranks, also when halved.
    assert [(one.bytes, one.spec, one.mockup) for one in run.series] == [
        (size, spec, mockup)
        for size in (984, 30000)
        for spec in ("native", "auto")
        for mockup in ["", *mockups]
    ]
    assert {one.inner for one in run.series if one.bytes == 984} == {run.series[0].inner}
    assert all(one.with_barrier for one in run.series)  # as a gather needs one
    assert run.series[3].label == "native scatter+scatterv/2"
    assert run.series[8].chosen.count("+") == 1


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_auto_takes_the_librarys_algorithm_that_the_table_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = bench_targets.local_target(name, 2)
    options = ["--specs", "native,auto", "--sizes", "1024,65536", "--repetitions", "2"]
    found = _core.parse_library_name(bench_targets.measure(target, options, ignore).library)
    assert found is not None
    rows = [
        {"from": 0, "spec": "native", "library": "recursive_doubling"},
        {"from": 65536, "spec": "native", "library": "nowhere"},
    ]
    table = {"format": "stretto-table", "version": 1, "mpi": found[1]}
    table["shapes"] = [{"nodes": 1, "ppn": 2, "allreduce": rows}]
    file = tmp_path / "table.json"
    file.write_text(json.dumps(table))
    monkeypatch.setenv("STRETTO_TABLE", str(file))
    run = bench_targets.measure(target, options, ignore)
    assert all(series.correct for series in run.series)
    assert [(one.bytes, one.spec, one.chosen) for one in run.series] == [
        (1024, "native", "native"),
        (1024, "auto", "native(recursive_doubling)"),
        (65536, "native", "native"),
        (65536, "auto", "native"),  # as it would in a program
    ]


def test_all_is_done_only_after_the_last_repetition() -> None:
    steps: list[tuple[float, float]] = []
    options = ["--specs", "native", "--sizes", "8", "--repetitions", "20", "--max-seconds", "0.000001"]
    target = bench_targets.local_target("openmpi", 2)
    run = bench_targets.measure(target, options, lambda *step: steps.append(step))
    assert len(run.series[0].seconds) == 5  # as many as there are whatever they take
    assert [step for step in steps if step[0] == step[1]] == [(1, 1)]


def test_the_measuring_program_keeps_to_a_budget() -> None:
    options = ["--specs", "native", "--sizes", "1024,1073741824", "--repetitions", "1000", "--budget", "0.5"]
    run = bench_targets.measure(bench_targets.local_target("openmpi", 2), options, ignore)
    assert [one.bytes for one in run.series] == [1024]
    assert run.skipped == [1 << 30]


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_the_measuring_program_refuses_what_it_cannot_read(name: str) -> None:
    target = bench_targets.local_target(name, 2)
    for arguments, message in [
        (["--sizes", "8"], "--specs is missing"),
        (["--specs", "native", "--sizes", "8,x"], "--sizes x: expected a number"),
        (
            ["--specs", "native", "--sizes", "8", "--type", "real"],
            "--type real: expected float, double or int32",
        ),
        (["--specs", "native", "--sizes", "8", "--fast", "1"], "unknown option --fast"),
        (["--specs", "native", "--sizes", "8", "--forms", "eager"], "--forms eager: expected blocking, non-"),
        (["--specs", "native", "--sizes", "8", "--collective", "sum"], "expected one of allreduce, bcast"),
        (["--specs", "native", "--sizes", "8", "--root", "1"], "--root 1: allreduce has no root"),
        (["--specs", "native", "--sizes", "8", "--collective", "reduce", "--root", "2"], "from 0 to 1"),
        (
            ["--specs", "native", "--sizes", "8", "--collective", "bcast", "--in-place", "yes"],
            "no in-place form",
        ),
        (
            ["--specs", "native", "--sizes", "8", "--collective", "barrier", "--in-place", "yes"],
            "no in-place form",
        ),
        (["--specs", "native", "--sizes", "8", "--skew", "0.5"], "--skew: allreduce does not take a length"),
        (["--specs", "native", "--sizes", "8", "--skew", "1.5"], "--skew 1.5: expected a number from 0 to 1"),
        (
            ["--specs", "native", "--sizes", "8", "--collective", "barrier", "--mockups", "allreduce"],
            "--mockups: nothing is compared with a barrier",
        ),
        (["--specs", "native", "--sizes", "8", "--mockups", "reduce+"], r"--mockups reduce\+: expected coll"),
        (["--specs", "native", "--sizes", "8", "--mockups", "bcast/0"], "--mockups bcast/0: expected coll"),
        (
            ["--specs", "ring", "--sizes", "8", "--mockups", "bcast"],
            "--mockups: expected --specs native,auto",
        ),
    ]:
        with pytest.raises(StrettoError, match=message):
            bench_targets.measure(target, arguments, ignore)


def test_the_program_wants_an_interface() -> None:
    ran = subprocess.run([paths.bench_program()], capture_output=True, text=True)
    wrong = (
        "stretto-bench: the first argument must be a binary interface (openmpi, mpich or abi) or sockets\n"
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", wrong)


def test_python_is_no_launcher() -> None:
    assert mpi.identify(sys.executable) is None
