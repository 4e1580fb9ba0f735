# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto._core import algorithms, collectives
from stretto.cli.main import app
from stretto.results.file import RunFile
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.recipes import all_recipes
from stretto.support.errors import StrettoError
from stretto_research.simulate import smpi
from stretto_research.simulate.jobs import SELECTORS, Job, run_jobs, seconds_of
from stretto_research.simulate.platforms import load_platform

ALTEC = load_platform("altec", nodes=17)
# All collectives, with those that use the algorithms of another collective.
CALLS = list(COLLECTIVES)


def recipes(collective: str) -> list[str]:
    return [one.text for one in all_recipes() if one.collective == collective]


@pytest.mark.parametrize("collective", CALLS)
def test_every_algorithm_gives_the_right_result(collective: str) -> None:
    # run_jobs() raises for wrong results. The data are checked, and so is the memory beside them.
    places = [(ALTEC, 7, 1), (ALTEC, 3, 4), (ALTEC, 1, 5)]
    sizes = (4, 4 * 6, 4 * 13, 40_000)
    in_place = "both" if COLLECTIVES[collective].goes_in_place else "no"
    jobs = [
        Job(platform, nodes, spec, sizes, ppn, collective, in_place=in_place, data=True)
        for platform, nodes, ppn in places
        for spec in [*recipes(COLLECTIVES[collective].algorithms), "native"]
    ]
    results = list(zip(jobs, run_jobs(jobs), strict=True))
    assert all(points for _, points in results)
    # Some of SMPI's own give wrong results.
    assert all(point.correct for job, points in results if not job.is_native for point in points)
    assert all(point.seconds > 0 for _, points in results for point in points if point.bytes > 100)


@pytest.mark.parametrize("collective", [name for name, one in COLLECTIVES.items() if one.has_lengths])
def test_unequal_blocks_give_the_right_result(collective: str) -> None:
    spec = recipes(COLLECTIVES[collective].algorithms)[0]
    jobs = [
        Job(ALTEC, 3, one, (4 * 18, 40_000), 2, collective, in_place="both", root=0, data=True, skew=skew)
        for skew in (0.0, 0.3, 1.0)
        for one in (spec, "native")
    ]
    results = list(zip(jobs, run_jobs(jobs), strict=True))
    assert all(point.correct for job, points in results if not job.is_native for point in points)
    assert all(points for job, points in results if not job.is_native)


def test_the_sample_has_every_algorithm() -> None:
    for collective in collectives():
        names = {one.name for one in algorithms() if one.collective == collective}
        assert names == {text.split(":")[0].split("(")[0] for text in recipes(collective)}


@pytest.mark.parametrize("ranks", [1, 2, 3, 16, 17])
def test_pipelined_on_any_number_of_ranks(ranks: int) -> None:
    specs = ["ring:segments=4", "rabenseifner:segments=3:window=2", "recursive_doubling", "auto", "native"]
    jobs = [Job(ALTEC, ranks, spec, (4, 1 << 20), data=True) for spec in specs]
    for points in run_jobs(jobs):
        assert [point.correct for point in points] == [True, True]


@pytest.mark.long
def test_messages_of_more_than_2_gib() -> None:
    # Six of seven blocks of 1 GiB travel as one message here; SMPI's status counts bytes in an int.
    (points,) = run_jobs([Job(ALTEC, 7, "gather_scatter", (1 << 30,))])
    assert points[0].seconds > 1


def test_messages_without_data_take_as_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))
    jobs = [
        Job(ALTEC, 5, spec, (64, 1 << 18, 1 << 21), data=data)
        for data in (True, False)
        for spec in ("ring:segments=4", "native")
    ]
    with_data_own, with_data_native, own, native = seconds_of(jobs)
    assert own == with_data_own
    assert native == with_data_native


def test_the_same_again_and_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    job = Job(ALTEC, 9, "ring:segments=8", (1 << 22,))
    found = []
    for name in ("first", "second"):
        monkeypatch.setenv("STRETTO_CACHE", str(tmp_path / name))
        found.append(seconds_of([job]))
    assert found[0] == found[1]


def test_what_was_computed_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))
    job = Job(ALTEC, 4, "ring", (1024,))
    first = seconds_of([job])

    def refuse(*_: object) -> list[smpi.Event]:
        raise AssertionError("computed again")

    monkeypatch.setattr(smpi, "_launch", refuse)
    assert seconds_of([job]) == first
    with pytest.raises(AssertionError, match="computed again"):
        seconds_of([Job(ALTEC, 4, "ring", (1025 * 4,))])
    # A damaged file counts as missing.
    for file in (tmp_path / "simulations").iterdir():
        file.write_text("{")
    with pytest.raises(AssertionError, match="computed again"):
        seconds_of([job])


def test_arithmetic_takes_what_the_machine_says() -> None:
    size = 1 << 26
    with_it, without = seconds_of([Job(ALTEC, 2, "ring", (size,), arithmetic=one) for one in (True, False)])
    # A ring of two reduces half of the message on each rank.
    assert with_it[size] - without[size] == pytest.approx(size / 2 / 12e9, rel=0.01)


@pytest.mark.parametrize("collective", ["allreduce", "reduce", "allgather"])
@pytest.mark.parametrize("selector", SELECTORS)
def test_what_happens_once_is_in_no_time(collective: str, selector: str) -> None:
    native, auto = seconds_of(
        [Job(ALTEC, 4, spec, (256, 1024), 2, collective, selector, data=False) for spec in ("native", "auto")]
    )
    # By the rule the library carries out both. Some algorithms make groups of ranks at their first call.
    assert auto == pytest.approx(native)
    assert auto[256] <= auto[1024]


def test_the_command(tmp_path: Path) -> None:
    file, png, csv = tmp_path / "run.json", tmp_path / "run.png", tmp_path / "run.csv"
    result = CliRunner().invoke(
        app,
        [
            "simulate", "--platform", "altec", "--nodes", "9", "--selector", "mpich",
            "--", "bench", "allreduce", "--specs", "native,ring:segments=4", "--sizes", "64KiB,16MiB",
            "-o", str(file), "--png", str(png), "--csv", str(csv),
        ],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "SMPI as MPICH" in result.output
    assert "virtual time" in result.output
    assert "n/(2(n-1)), n = 9 nodes" in result.output
    run = RunFile.model_validate(json.loads(file.read_text()), strict=True)
    assert [one.spec for one in run.results] == ["native", "ring:segments=4"] * 2
    assert run.virtual
    bound = run.bound()
    assert bound is not None
    assert bound.bandwidth(16 << 20) == pytest.approx(11.77e9 * 9 / 16)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert len(csv.read_text().splitlines()) == 5


def test_the_command_without_a_command_shows_the_platform(tmp_path: Path) -> None:
    xml = tmp_path / "cloud.xml"
    result = CliRunner().invoke(app, ["simulate", "--platform", "cloud", "--xml", str(xml)])
    assert result.exit_code == 0, result.output
    assert "1 GiB" in result.output
    assert "<cluster" in xml.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--selector", "lam", "--", "bench", "allreduce"], "--selector lam: expected one of openmpi, mpich"),
        (["--platform", "no.xml", "--", "bench", "allreduce"], "expected a file of SimGrid's XML"),
        (["--platform", "altec", "--from-machine", "lab", "--", "bench", "allreduce"], "not both"),
        (["--", "bench", "allreduce", "--specs", "rong"], "rong"),
        (["--", "bench", "allreduce", "--specs", "native(fast)"], "native(fast)"),
        (["--", "bench", "allreduce", "--specs", "native:segments=4"], "imitates no library's non-blocking"),
        (["--", "bench", "bcast", "--in-place", "yes"], "no in-place form"),
        (["--", "mpirun"], "only -- bench COLLECTIVE can be simulated"),
        (["--png", "x.png", "--", "bench", "allreduce"], "after the --"),
        (
            [
                "--nodes",
                "600",
                "--ppn",
                "28",
                "--",
                "bench",
                "allreduce",
                "--specs",
                "native",
                "--sizes",
                "1GiB",
            ],
            "of memory",
        ),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["simulate", *arguments])
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.strip().splitlines()
    assert said in line


def test_a_platform_with_too_few_hosts(tmp_path: Path) -> None:
    file = tmp_path / "three.xml"
    file.write_text('<platform version="4.1"><cluster id="c" prefix="n" radical="0-2" suffix=""/></platform>')
    arguments = ["simulate", "--platform", str(file), "--nodes", "4", "--", "bench", "allreduce"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "4 nodes were asked for, but the platform three has 3 hosts" in result.stderr


def test_without_simgrid_it_says_which_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smpi, "find_smpirun", lambda: None)
    with pytest.raises(StrettoError, match=r"SimGrid is not installed; install it .*libsimgrid-dev"):
        seconds_of([Job(ALTEC, 2, "ring", (8,))])
