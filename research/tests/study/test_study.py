# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from stretto import _core
from stretto.bench.job import Ready
from stretto.bench.targets import Target
from stretto.cli import main as cli
from stretto.results.file import RunFile
from stretto.results.runs import FORMS, Run, Series, summarize, to_json
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.spec.labels import STRETTO, Kind, kind_of, label_of
from stretto.spec.native import NATIVE
from stretto.studies.analysis import by_size, gain_of, mean_gains, ranking
from stretto.studies.figures import figures
from stretto.studies.file import Study, StudyRun, parse_bench, parse_study, study_text
from stretto.support.errors import StrettoError
from stretto.support.interruption import Terminated
from stretto_research.study.runs import Clock, Settings, library_algorithms, measure_run
from stretto_research.study.specs import candidates
from stretto_research.study.table import gains_table, notes, ranking_table

ALLREDUCE = COLLECTIVES["allreduce"]
FILE = Path("study.json")


def make_series(size: int, spec: str, seconds: list[float], chosen: str | None = None) -> Series:
    return Series(size, False, spec, chosen or spec, 1, seconds, True)


def make_run(series: list[Series], nodes: int = 8) -> Run:
    return Run(ALLREDUCE, 0, "Open MPI v4.1.4", "0.1.0", 8, nodes, [8 // nodes] * nodes, "float", series)


@pytest.mark.parametrize(
    ("spec", "kind", "label"),
    [
        ("native", Kind.NATIVE, "MPI default"),
        ("native:segments=1", Kind.PIPELINING, "NBL"),
        ("native:segments=4", Kind.PIPELINING, "NBLx4"),
        ("native(ring)", Kind.LIBRARY, "native(ring)"),
        ("auto", Kind.STRETTO, "Stretto"),
        ("ring:segments=4", Kind.OWN, "ring:segments=4"),
    ],
)
def test_what_the_papers_call_a_spec(spec: str, kind: Kind, label: str) -> None:
    assert (kind_of(spec), label_of(spec)) == (kind, label)


@pytest.mark.parametrize("collective", COLLECTIVES.values(), ids=list(COLLECTIVES))
@pytest.mark.parametrize("ppn", [[4], [1] * 8, [2] * 4, [4, 4, 1]])
def test_candidates_are_of_use_where_they_run(collective: Any, ppn: list[int]) -> None:
    found = candidates(collective.algorithms, ppn, ["linear"])
    assert found[:2] == [NATIVE, STRETTO]
    assert len(set(found)) == len(found)
    assert {kind_of(spec) for spec in found} >= {
        Kind.NATIVE,
        Kind.STRETTO,
        Kind.LIBRARY,
        Kind.PIPELINING,
        # If ranks do not know the size, no algorithm is for short or for long messages only.
        *(() if _core.is_never_cut(collective.algorithms) and collective.has_message else (Kind.OWN,)),
    }
    topology = _core.Topology(f"ppn={'+'.join(map(str, ppn))}")
    for spec in found:
        if kind_of(spec) == Kind.OWN:
            recipe = _core.parse_spec(spec, collective.algorithms).recipe
            assert _core.why_unsupported(collective.algorithms, recipe, topology) == ""


def test_own_specs_may_be_given() -> None:
    found = candidates("allreduce", [1, 1], own=["ring", "swing"])
    assert [spec for spec in found if kind_of(spec) == Kind.OWN] == ["ring", "swing"]


times = st.lists(st.floats(1e-6, 10), min_size=5, max_size=5)


@given(st.dictionaries(st.sampled_from(["auto", "native:segments=2", "ring", "swing"]), times), times)
def test_best_is_as_fast_as_auto_and_every_candidate(
    others: dict[str, list[float]], auto: list[float]
) -> None:
    series = [make_series(1 << 20, NATIVE, auto)]
    series += [make_series(1 << 20, spec, seconds, "ring") for spec, seconds in others.items()]
    (figures,) = by_size(summarize(make_run(series), None))
    best = gain_of(figures.best).median
    assert best >= 1
    rows = summarize(make_run(series), None)
    assert best == max(gain_of(row).median for row in rows)
    assert (figures.stretto is not None) == ("auto" in others)
    assert figures.library is None


def test_a_call_that_stretto_leaves_to_the_library_is_not_best() -> None:
    series = [make_series(1024, NATIVE, [1.0] * 6), make_series(1024, STRETTO, [0.9] * 6, NATIVE)]
    (figures,) = by_size(summarize(make_run(series), None))
    assert figures.best.series.spec == NATIVE
    assert figures.stretto is not None
    assert gain_of(figures.stretto).median == pytest.approx(1 / 0.9)


def test_only_what_can_be_compared_counts() -> None:
    auto = make_series(1024, NATIVE, [1.0] * 6)
    in_place = Series(1024, True, "ring", "ring", 1, [0.1] * 6, True)
    elsewhere = make_series(2048, "ring", [0.1] * 6)
    mockup = Series(1024, False, NATIVE, NATIVE, 1, [0.1] * 6, True, mockup="reduce+bcast")
    (figures,) = by_size(summarize(make_run([auto, in_place, elsewhere, mockup]), None))
    assert figures.best.series is auto


def test_the_mean_is_geometric_and_over_the_middle_sizes() -> None:
    series = []
    for size, gain in ((1024, 9.0), (256 << 10, 2.0), (16 << 20, 8.0), (64 << 20, 9.0)):
        series += [make_series(size, NATIVE, [1.0] * 6), make_series(size, STRETTO, [1 / gain] * 6, "ring")]
    means = mean_gains(by_size(summarize(make_run(series), None)))
    assert means.stretto == pytest.approx(4)
    assert means.best == pytest.approx(4)
    assert means.library is None


def test_a_message_that_was_cut_to_whole_blocks_is_in_the_middle_too() -> None:
    size = (256 << 10) - 4
    series = [make_series(size, NATIVE, [1.0] * 6), make_series(size, STRETTO, [0.5] * 6, "ring")]
    assert mean_gains(by_size(summarize(make_run(series), None))).stretto == pytest.approx(2)


@given(st.lists(st.one_of(st.none(), st.floats(1e-6, 10)), min_size=1, max_size=5))
def test_places_follow_the_times(seconds: list[float | None]) -> None:
    rows = [
        summarize(make_run([make_series(1, NATIVE, [one])]), None)[0] if one is not None else None
        for one in seconds
    ]
    places = ranking(rows)
    assert [place is None for place in places] == [one is None for one in seconds]
    found = [place for place in places if place]
    assert not found or min(place.ratio for place in found) == 1
    for one, other in itertools.permutations(found, 2):
        if one.row.seconds.median < other.row.seconds.median:
            assert one.rank < other.rank
            assert one.ratio < other.ratio


series_of_a_case = st.lists(
    st.tuples(
        st.sampled_from(["native", "auto", "ring", "smp(ring):segments=4"]),
        st.sampled_from(FORMS),
        st.lists(st.floats(1e-9, 1e3), min_size=3, max_size=3),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=50)
@given(
    st.dictionaries(st.integers(1, 1 << 40), series_of_a_case, max_size=3),
    st.sampled_from(sorted(COLLECTIVES)),
    st.one_of(st.none(), st.floats(1e3, 1e12)),
)
def test_a_run_is_read_back_as_it_was(
    cases: dict[int, list[tuple[str, str, list[float], bool]]], collective: str, rate: float | None
) -> None:
    series = [
        Series(size, False, spec, spec, 1, seconds, correct, False, form)
        for size, found in cases.items()
        for spec, form, seconds, correct in found
    ]
    what = COLLECTIVES[collective]
    run = Run(what, 0, "MPICH Version: 5.0.2", "0.1.0", 2, 2, [1, 1], "float", series, skipped=[1 << 41])
    bound = LinkBound(rate, what, [1, 1], 4096) if rate else None
    content = json.loads(json.dumps(to_json(run, summarize(run, bound), bound, [])))
    read = RunFile.model_validate(content)
    assert read.run() == run
    assert read.bound() == bound


def test_a_study_is_read_back(samples: Path) -> None:
    content = json.loads((samples / "study.json").read_text())
    study = parse_study(content, FILE)
    assert [run.name for run in study.runs] == ["Open MPI 4.1.4", "MPICH 5.0.2"]
    assert study.failed == [("intelmpi", "it was not found")]
    again = parse_study(json.loads(study_text(study, [])), FILE)
    assert [run.run for run in again.runs] == [run.run for run in study.runs]
    figures = study.runs[0].sizes[-1]
    assert figures.best.series.spec == "ring:segment_bytes=256KiB"
    assert content["summary"][0]["sizes"][-1]["best"]["gain"] == gain_of(figures.best).median


def test_what_stretto_bench_wrote_is_a_study_too() -> None:
    run = make_run([make_series(1024, NATIVE, [1.0, 1.1]), make_series(1024, "ring", [0.5, 0.5])])
    content = json.loads(json.dumps(to_json(run, summarize(run, None), None, [])))
    (read,) = parse_bench(content, Path("bench.json")).runs
    assert read.run == run


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version: Input should be 1"),
        ({"runs": [{}]}, "runs/0/collective: Field required"),
        ({"where": None}, "where: Input should be a valid string"),
    ],
)
def test_a_broken_study_is_one_line(samples: Path, change: dict[str, Any], message: str) -> None:
    content = json.loads((samples / "study.json").read_text()) | change
    with pytest.raises(StrettoError) as error:
        parse_study(content, FILE)
    assert str(error.value) == f"study.json: {message}"


def test_samples_that_do_not_pair_up_are_refused(samples: Path) -> None:
    content = json.loads((samples / "study.json").read_text())
    content["runs"][1]["results"][2]["seconds"].pop()
    with pytest.raises(StrettoError, match=r"study\.json: runs/1: .*another number of samples"):
        parse_study(content, FILE)


def text_of(study: Study) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        for run in study.runs:
            gains_table(run).print(console)
        ranking_table(study.runs).print(console)
    return capture.get()


def test_the_tables(samples: Path) -> None:
    study = parse_study(json.loads((samples / "study.json").read_text()), FILE)
    lines = [" ".join(line.split()) for line in text_of(study).splitlines()]
    assert "MPI_Allreduce of float, Open MPI 4.1.4, 8 ranks on 8 nodes" in lines
    row = next(line for line in lines if line.startswith("16 MiB 2.397 s"))
    assert "native(ring) 1.67 NBLx4 1.25" in row
    assert "ring:segment_bytes=256KiB 2.08 ring:segment_bytes=256KiB 2.00" in row
    assert row.endswith("%")  # of the bound
    assert "mean 1.67 1.25 2.08 2.00" in lines
    assert any(line.startswith("16 MiB MPI default 2.397 s 2. 2.179 s 1.") for line in lines)


def test_the_notes_say_what_is_missing(samples: Path) -> None:
    study = parse_study(json.loads((samples / "study.json").read_text()), FILE)
    study.runs[0].incomplete = "the program ended"
    lines = list(notes(study))
    assert "Open MPI 4.1.4: the budget was too short for 64 MiB; give a larger --budget" in lines
    assert "Open MPI 4.1.4: not all was measured: the program ended" in lines
    assert "intelmpi: nothing was measured: it was not found" in lines
    assert any(line.startswith("bound: links of 200mbit") for line in lines)


def test_the_figures_are_the_papers(samples: Path) -> None:
    study = parse_study(json.loads((samples / "study.json").read_text()), FILE)
    found = dict(figures(study.runs))
    one = "allreduce-open-mpi-4.1.4"
    two = "allreduce-mpich-5.0.2"
    parts = ("library", "pipelining", "stretto")
    assert list(found) == [
        *(f"{name}-{part}" for name in (one, two) for part in parts),
        "allreduce-libraries",
    ]
    (axes,) = found[f"{one}-pipelining"].axes
    lines = [str(line.get_label()) for line in axes.get_lines()]
    assert lines == ["MPI default", "NBL", "NBLx4", "Stretto", "bound of 200mbit links"]
    assert axes.get_xscale() == "log"
    (axes,) = found[f"{one}-stretto"].axes
    assert [str(line.get_label()) for line in axes.get_lines()][:3] == ["BEST", "MPI default", "Stretto"]
    (axes,) = found["allreduce-libraries"].axes
    assert len(axes.get_lines()) == 7


def test_a_budget_that_is_spent_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 101.5)
    with pytest.raises(StrettoError, match=r"--budget 2 s is too short: 0\.5 s are left for 1 more"):
        Clock(2, begin=100).share(1)
    assert Clock(600, begin=100).share(3) == pytest.approx(199.5)


@pytest.mark.parametrize(("by_launch", "found"), [(False, ["linear", "nonoverlapping"]), (True, [])])
def test_which_algorithms_of_the_library_are_in_a_study(by_launch: bool, found: list[str]) -> None:
    names = {"blocking": ["linear", "nonoverlapping", "k_reduce_scatter", "two_proc"]}
    ready = Ready("Open MPI v4.1.4", 8, 8, [1] * 8, {"allreduce": names}, by_launch, "0.1.0")
    assert library_algorithms(ready, COLLECTIVES["allreduce"]) == found
    assert library_algorithms(ready, COLLECTIVES["bcast"]) == []


START = {
    "event": "start", "collective": "allreduce", "root": 0,
    "library": "Open MPI v4.1.4", "ranks": 2, "nodes": 1, "ppn": [2], "type": "float", "stretto": "0.1.0",
}  # fmt: skip
RESULT = {
    "event": "result", "bytes": 1024, "in_place": False, "spec": "native", "mockup": "", "chosen": "native",
    "inner": 1, "seconds": [1.0] * 6, "correct": True,
}  # fmt: skip


def target_that_prints(*events: dict[str, Any], end: str = "") -> Target:
    lines = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events)
    code = f"import os, signal; print({lines!r}, end='', flush=True); {end}"

    @contextmanager
    def start(program: list[str], stdin: int = DEVNULL) -> Iterator[Popen[str]]:
        assert program
        with Popen([sys.executable, "-c", code], stdin=stdin, stdout=PIPE, text=True) as process:
            yield process

    return Target("openmpi", start)


SETTINGS = Settings([1024, 4096], 5, 1, None)


def ignore(_done: float, _total: float) -> None:
    pass


def test_what_was_measured_before_a_failure_is_kept() -> None:
    kept: list[StudyRun] = []
    measure_run(target_that_prints(START, RESULT), [], SETTINGS, ignore, kept.append)
    assert [run.run.series[0].seconds for run in kept] == [[1.0] * 6]
    assert kept[0].incomplete.startswith("the measuring program ended before its last result")


def test_what_was_measured_before_an_interruption_is_kept() -> None:
    def interrupt(_done: float, _total: float) -> None:
        raise Terminated(15)

    kept: list[StudyRun] = []
    target = target_that_prints(START, RESULT, {"event": "progress", "done": 1, "total": 2})
    with pytest.raises(Terminated):
        measure_run(target, [], SETTINGS, interrupt, kept.append)
    assert [run.incomplete for run in kept] == ["it was interrupted"]


def test_a_failure_before_the_first_result_is_an_error() -> None:
    with pytest.raises(StrettoError, match="no such thing"):
        measure_run(
            target_that_prints(START, {"event": "error", "message": "no such thing"}),
            [],
            SETTINGS,
            ignore,
            lambda _run: pytest.fail("there was nothing to keep"),
        )


def test_wrong_results_are_not_kept() -> None:
    target = target_that_prints(
        START, RESULT | {"correct": False}, {"event": "end"}, end="raise SystemExit(1)"
    )
    with pytest.raises(StrettoError, match="WRONG RESULTS of native at 1024 bytes"):
        measure_run(target, [], SETTINGS, ignore, lambda _run: pytest.fail("they were kept"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["barrier"], "barrier: expected one of allreduce, bcast"),
        (["--lab", "--", "mpirun"], "give --lab or -- LAUNCHER, not both"),
        (["--mpi", "openmpi,mpich", "--", "mpirun"], "a launcher belongs to one MPI"),
        (["--guidelines", "--specs", "ring"], "--specs: --guidelines checks only what"),
        (["--specs", "rign"], "rign"),
        (["--specs", "ring,,swing"], "with single commas between"),
        (["--budget", "soon"], "'soon' is not a time"),
        (["--budget", "1us"], "--budget 1 µs is too short"),
        (["--sizes", "big"], "'big' is not a size"),
        (["--mpi", "lam"], "--mpi lam: there is no such MPI"),
        (["--output", "/dev/null/x"], "--output /dev/null/x: Not a directory"),
        (["--lab", "--lab-name", "stretto-nowhere"], "stretto-nowhere is up"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    output = [] if "--output" in arguments else ["--output", str(tmp_path)]
    result = CliRunner().invoke(cli.app, ["study", *output, *arguments])
    assert result.exit_code == 2
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("stretto: ")
    assert message in lines[0]


def test_a_study_of_this_machine(tmp_path: Path) -> None:
    arguments = ["--np", "2", "--sizes", "1KiB,64KiB", "--specs", "ring", "--repetitions", "5"]
    arguments += ["--budget", "2m", "--mpi", "openmpi,lam", "--output", str(tmp_path)]
    result = CliRunner().invoke(cli.app, ["study", *arguments])
    assert result.exit_code == 1  # of what there is no such MPI
    assert "MPI_Allreduce of float, Open MPI" in result.stdout
    assert "lam: nothing was measured: --mpi lam: there is no such MPI" in result.stdout
    study = parse_study(json.loads((tmp_path / "study.json").read_text()), FILE)
    (run,) = study.runs
    assert [size.bytes for size in run.sizes] == [1024, 65536]
    specs = list(dict.fromkeys(series.spec for series in run.run.series))
    assert "native(ring)" in specs
    others = [spec for spec in specs if kind_of(spec) != Kind.LIBRARY]
    assert others == [NATIVE, STRETTO, *(f"native:segments={count}" for count in (1, 2, 4, 8)), "ring"]
    assert all(series.correct for series in run.run.series)
    written = {file.name for file in tmp_path.iterdir()}
    name = f"allreduce-{run.name.lower().replace(' ', '-')}"
    figures = {f"{name}-{kind}.png" for kind in ("library", "pipelining", "stretto")}
    assert written == {"study.json", *figures}


def test_a_launcher_of_the_users_own(tmp_path: Path) -> None:
    arguments = [
        "bcast",
        "--sizes",
        "4KiB,1MiB",
        "--specs",
        "binomial",
        "--repetitions",
        "5",
        "--budget",
        "2m",
    ]
    launcher = ["--", "mpirun.mpich", "-np", "2"]
    result = CliRunner().invoke(cli.app, ["study", *arguments, "--output", str(tmp_path), *launcher])
    assert result.exit_code == 0
    study = parse_study(json.loads((tmp_path / "study.json").read_text()), FILE)
    assert study.where == "started by mpirun.mpich -np 2"
    assert study.runs[0].run.collective.name == "bcast"
    assert [size.bytes for size in study.runs[0].sizes] == [4096, 1 << 20]
