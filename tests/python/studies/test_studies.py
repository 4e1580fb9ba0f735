# SPDX-License-Identifier: Apache-2.0
"""Files of studies and of stretto bench, the gains in them, and their figures."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.results.file import RunFile
from stretto.results.runs import FORMS, Run, Series, summarize, to_json
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.spec.labels import STRETTO, Kind, kind_of, label_of
from stretto.spec.native import NATIVE
from stretto.studies.analysis import by_size, gain_of, mean_gains, ranking
from stretto.studies.figures import pictures
from stretto.studies.file import parse_bench, parse_study, study_text
from stretto.support.errors import StrettoError

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


def test_the_figures_are_the_papers(samples: Path) -> None:
    study = parse_study(json.loads((samples / "study.json").read_text()), FILE)
    found = {one.name: one.draw() for one in pictures(study.runs)}
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
