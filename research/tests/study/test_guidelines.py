# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from stretto.cli import main as cli
from stretto.results.runs import Run, Series
from stretto.spec.collectives import COLLECTIVES
from stretto.support.errors import StrettoError
from stretto_research.study import guidelines_table
from stretto_research.study.guidelines import (
    STUDIED,
    TOLERANCE,
    USUAL,
    Guideline,
    check,
    guidelines,
    mockups,
    violations,
)
from stretto_research.study.guidelines_file import guidelines_text, parse_guidelines

FILE = Path("guidelines.json")


def run_of(times: dict[str, list[float]], collective: str = "allreduce", spec: str = "native") -> Run:
    """Returns a run with these times by mock-up. The collective itself has the empty name."""
    series = [
        Series(1024, False, spec, spec, 1, seconds, True, mockup=mockup) for mockup, seconds in times.items()
    ]
    return Run(COLLECTIVES[collective], 0, "Open MPI v4.1.4", "0.1.0", 2, 1, [2], "float", series)


@pytest.mark.parametrize(
    ("guideline", "text"),
    [
        (Guideline("allreduce", "allreduce", "reduce+bcast"), "allreduce ≤ reduce + bcast"),
        (Guideline("bcast", "bcast/2", "bcast"), "bcast(n/2) ≤ bcast(n)"),
        (Guideline("bcast", "bcast", "bcast/2+bcast/2"), "bcast(n) ≤ 2 bcast(n/2)"),
    ],
)
def test_a_guideline_as_people_read_it(guideline: Guideline, text: str) -> None:
    assert guideline.text == text


@pytest.mark.parametrize("collective", STUDIED)
def test_every_collective_has_monotony_splitting_and_others_that_stand_for_it(collective: str) -> None:
    texts = [one.text for one in guidelines(collective)]
    assert f"{collective}(n/2) ≤ {collective}(n)" in texts
    assert f"{collective}(n) ≤ 2 {collective}(n/2)" in texts
    # No other calls can replace a scan, and no call is more general than MPI_Alltoallw.
    most_general = ("alltoallw", "scan", "exscan")
    assert any(text.startswith(f"{collective} ≤ ") for text in texts) == (collective not in most_general)
    measured = {collective, *mockups(collective)}
    assert all({one.left, one.right} <= measured for one in guidelines(collective))


@given(st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=12), st.floats(0.1, 10))
def test_only_more_than_is_tolerated_is_a_violation(noise: list[float], factor: float) -> None:
    """Noise that both sides of a pair share cancels out, however large it is."""
    assume(abs(factor - TOLERANCE) > 1e-6)
    times = {"": [factor * one for one in noise], "reduce+bcast": noise}
    (found,) = check(run_of(times))
    assert found.ratio.median == pytest.approx(factor)
    assert found.violated == (factor > TOLERANCE)


def test_what_only_some_pairs_say_is_no_violation() -> None:
    (found,) = check(run_of({"": [2, 2, 2, 2, 2, 1.0], "reduce+bcast": [1.0] * 6}))
    assert found.ratio.median == 2
    assert not found.violated


def test_sides_that_were_not_measured_are_left_out() -> None:
    assert check(run_of({"": [1.0] * 6})) == []
    assert check(run_of({"reduce+bcast": [1.0] * 6})) == []


def test_monotony_and_splitting() -> None:
    times = {"": [3.0] * 6, "bcast/2": [4.0] * 6, "bcast/2+bcast/2": [2.0] * 6}
    found = check(run_of(times, "bcast"))
    assert [(one.guideline.text, one.ratio.median, one.violated) for one in found] == [
        ("bcast(n/2) ≤ bcast(n)", pytest.approx(4 / 3), True),
        ("bcast(n) ≤ 2 bcast(n/2)", 1.5, True),
    ]
    assert violations(found, "auto") == []


def test_the_file_is_read_back(more_samples: Path) -> None:
    content = json.loads((more_samples / "guidelines.json").read_text())
    found = parse_guidelines(content, FILE)
    (library,) = found.libraries
    assert [one.guideline.text for one in violations(library.checks, "native")] == [
        "allreduce ≤ reduce + bcast",
        "allreduce ≤ reduce_scatter_block + allgather",
        "allreduce(n) ≤ 2 allreduce(n/2)",
    ]
    again = parse_guidelines(json.loads(guidelines_text(found, [])), FILE)
    assert again == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "version: Input should be 1"),
        ({"libraries": [{"mpi": "x"}]}, "libraries/0/ranks: Field required"),
    ],
)
def test_a_broken_file_is_one_line(more_samples: Path, change: dict[str, Any], message: str) -> None:
    content = json.loads((more_samples / "guidelines.json").read_text()) | change
    with pytest.raises(StrettoError) as error:
        parse_guidelines(content, FILE)
    assert str(error.value) == f"guidelines.json: {message}"


def test_sides_that_do_not_pair_up_are_refused(more_samples: Path) -> None:
    content = json.loads((more_samples / "guidelines.json").read_text())
    content["libraries"][0]["checks"][0]["left_seconds"].pop()
    with pytest.raises(StrettoError, match=r"libraries/0/checks/0: .*different lengths"):
        parse_guidelines(content, FILE)


def test_the_tables_mark_violations(more_samples: Path) -> None:
    found = parse_guidelines(json.loads((more_samples / "guidelines.json").read_text()), FILE)
    console = Console(width=200)
    with console.capture() as capture:
        for table in guidelines_table.tables(found.libraries[0]):
            table.print(console)
    lines = [" ".join(line.split()) for line in capture.get().splitlines()]
    assert "Open MPI 4.1.4, 8 ranks on 8 nodes: the library" in lines
    assert "Open MPI 4.1.4, 8 ranks on 8 nodes: Stretto" in lines
    assert [line for line in lines if line.startswith("allreduce ≤ reduce + bcast")] == [
        "allreduce ≤ reduce + bcast 2.00 !",
        "allreduce ≤ reduce + bcast 1.00",
    ]
    notes = list(guidelines_table.notes(found))
    assert notes[-1] == "Open MPI 4.1.4, 8 ranks on 8 nodes: violations of 4: the library 3, Stretto 0"


@pytest.mark.long
def test_the_guidelines_of_this_machine(tmp_path: Path) -> None:
    """All collectives, so that each mock-up is carried out, and its results checked."""
    arguments = ["--guidelines", "--np", "3", "--sizes", "4KiB", "--repetitions", "5", "--budget", "4m"]
    result = CliRunner().invoke(cli.app, ["study", *arguments, "--output", str(tmp_path)])
    assert result.exit_code == 0
    assert ": Stretto" in result.stdout
    (library,) = parse_guidelines(json.loads((tmp_path / "guidelines.json").read_text()), FILE).libraries
    assert library.ranks == 3
    expected = {one for collective in USUAL for one in guidelines(collective)}
    for spec in ("native", "auto"):
        assert {one.guideline for one in library.checks if one.spec == spec} == expected
    parts = {
        one.right.chosen.count("+") + 1 for one in library.checks if one.guideline.right == "reduce+bcast"
    }
    assert parts == {2}  # a choice for each call
