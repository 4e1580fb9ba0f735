# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stretto.support.errors import StrettoError
from stretto.support.tables import ResultTable
from stretto_research.regret.figures import Cell, Job, by_baseline, summarize
from stretto_research.regret.file import read_jobs, regret_text
from stretto_research.regret.map import Panels, draw_map, gain_text, map_figure
from stretto_research.regret.output import notes, regret_table, remarks
from stretto_research.regret.specs import Tables, candidates, rule_spec

JITTER = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.005)


def cell(size: int, auto: float, ring: float) -> Cell:
    """Returns a cell in which the MPI default takes 1 s."""
    times = {"native": 1.0, "auto": auto, "ring": ring}
    samples = {spec: [seconds * one for one in JITTER] for spec, seconds in times.items()}
    # The first job finds the fastest choice in ten calls.
    first = [2 * auto] * 10 + [auto] * 30
    return Cell(size, "ring", samples, first, [auto] * 12)


def cell_without_mpi(size: int, rule: float, auto: float) -> Cell:
    samples = {spec: [seconds * one for one in JITTER] for spec, seconds in (("ring", rule), ("auto", auto))}
    return Cell(size, "rabenseifner", samples, rule="ring")


def job(network: str, mpi: str, collective: str, *cells: Cell) -> Job:
    return Job(network, mpi, collective, "Open MPI v4.1.4", [1] * 8, list(cells), seconds=12.5)


JOBS = [
    job("8x200mbit", "openmpi", "allreduce", cell(1 << 10, 1.0, 2.0), cell(1 << 20, 0.5, 0.4)),
    job("8x200mbit", "openmpi", "bcast", cell(1 << 10, 1.25, 1.5), cell(1 << 20, 0.25, 0.25)),
    job("2xunlimited", "mpich5:ofi", "allreduce", cell(1 << 10, 1.0, 0.8)),
]

WITHOUT_MPI = [
    job("8x200mbit", "sockets", "allreduce", cell_without_mpi(1 << 10, 1.0, 0.5)),
    job("2x1gbit", "sockets", "allreduce", cell_without_mpi(1 << 10, 0.8, 1.0)),
]


def test_gain_and_regret_of_a_cell() -> None:
    one = cell(1 << 20, 0.5, 0.4)
    assert (one.baseline_seconds, one.auto, one.best) == (1.0, 0.5, "ring")
    assert one.gain.median == pytest.approx(2)
    assert one.regret() == pytest.approx(0.25)
    assert one.regret("native") == pytest.approx(1.5)
    assert one.regret("ring") == 0
    assert not one.is_slower


def test_the_regret_of_the_first_calls() -> None:
    one = cell(1 << 20, 0.5, 0.4)
    assert one.early_regret(10) == pytest.approx(1.5)
    assert one.early_regret(30) == pytest.approx((10 * 1.0 + 20 * 0.5) / (30 * 0.4) - 1)
    assert one.early_regret(100) is None
    assert one.early_regret(10, second=True) == pytest.approx(0.25)
    assert one.early_regret(30, second=True) is None
    found = summarize(JOBS)
    assert found is not None
    assert found.early_regret(10) == pytest.approx(2 * (1 + found.regret) - 1)
    assert found.early_regret(100) is None
    # Short single calls are not compared with rows of calls.
    short = Cell(8, "ring", {"native": [1e-5], "auto": [1e-5]}, [1e-4] * 20)
    assert short.early_regret(10) is None


def test_the_best_may_be_a_default() -> None:
    assert cell(1, 0.5, 0.6).best == "auto"
    assert cell(1, 1.25, 1.5).best == "native"
    assert cell(1, 1.25, 1.5).is_slower
    assert not cell(1, 1.02, 1.5).is_slower  # less than 3 %


def test_the_summary_of_jobs() -> None:
    assert summarize([]) is None
    found = summarize(JOBS)
    assert found is not None
    assert len(found.spots) == 5
    assert found.regret == pytest.approx((0 + 0.25 + 0.25 + 0 + 0.25) / 5)
    assert found.baseline_regret == pytest.approx((0 + 1.5 + 0 + 3 + 0.25) / 5)
    assert found.gain == pytest.approx((1 * 2 * 0.8 * 4 * 1) ** (1 / 5))
    assert (found.slowest.job.collective, found.slowest.cell.bytes) == ("bcast", 1 << 10)
    assert [spot.job.collective for spot in found.slower] == ["bcast"]


def cells_of(table: ResultTable[Any]) -> list[list[str]]:
    return [[str(column.cell(row)) for row in table.rows] for column in table.columns]


def test_without_mpi_the_rule_is_the_baseline() -> None:
    found = summarize(WITHOUT_MPI)
    assert found is not None
    assert found.baseline_regret == pytest.approx(0.5)
    assert found.regret == pytest.approx(0.125)
    assert found.gain == pytest.approx((2 * 0.8) ** 0.5)
    assert [spot.job.network for spot in found.slower] == ["2x1gbit"]
    assert [some[0].mpi for some in by_baseline([*WITHOUT_MPI, *JOBS])] == ["openmpi", "sockets"]
    table = regret_table(WITHOUT_MPI)
    assert table.columns[2].title == "rule:\nmean regret"
    assert cells_of(table)[2] == ["100 %", "0.0 %", "50.0 %"]


@pytest.mark.parametrize(
    ("jobs", "than"),
    [
        (JOBS, "than the MPI default, in pairs"),
        (WITHOUT_MPI, "than the built-in rule, in pairs"),
        ([*WITHOUT_MPI, *JOBS], "than the MPI default (sockets: the built-in rule), in pairs"),
    ],
)
def test_the_note_says_what_is_compared_with(jobs: list[Job], than: str) -> None:
    assert f"gain: times faster {than}" in next(iter(notes(jobs)))


def test_the_table_has_a_line_for_each_network_and_one_for_all() -> None:
    table = regret_table(JOBS)
    columns = cells_of(table)
    assert columns[0] == ["8x200mbit", "2xunlimited", "all"]
    assert columns[1] == ["4", "1", "5"]
    assert columns[4] == ["25.0 %", "25.0 %", "25.0 %"]
    assert columns[5][1] == "allreduce 1 KiB, mpich5:ofi; best: ring"
    assert columns[6] == ["125, 50, - %", "150, 67, - %", "130, 53, - %"]
    assert columns[7][1] == "25, -, - %"
    assert columns[10][2] == "bcast 1 KiB, openmpi, 8x200mbit"
    assert columns[11] == ["1", "0", "1"]
    assert cells_of(regret_table(JOBS[2:]))[0] == ["2xunlimited"]


def test_what_is_missing_is_said() -> None:
    ended = Job("1x2", "mpich", "reduce", error="the job has ended", left_out=[16 << 20])
    assert "reduce, mpich, 1x2: --max-seconds is too short for 16 MiB" in list(notes([ended]))
    assert remarks([ended]) == ["reduce, mpich, 1x2: nothing was measured: the job has ended"]


def test_the_file_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "regret.json"
    request = {"sizes": [1024], "warmup": 40}
    file.write_text(regret_text(JOBS, request, ["stretto"]), encoding="utf-8")
    assert read_jobs(file) == (request, JOBS)
    content = json.loads(file.read_text())
    assert [one["network"] for one in content["summary"]] == ["8x200mbit", "2xunlimited"]
    size = content["jobs"][0]["sizes"][1]
    assert (size["best_spec"], size["native"], size["auto"], size["best"]) == ("ring", 1.0, 0.5, 0.4)
    assert size["gain"]["low"] <= size["gain"]["median"] <= size["gain"]["high"]
    assert (size["rule"], content["overall_without_library"]) == (None, None)


def test_a_file_with_jobs_without_mpi_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "regret.json"
    jobs = [*WITHOUT_MPI, *JOBS]
    file.write_text(regret_text(jobs, {}, ["stretto"]), encoding="utf-8")
    assert read_jobs(file) == ({}, jobs)
    content = json.loads(file.read_text())
    assert [one["network"] for one in content["summary"]] == [
        *("8x200mbit", "2xunlimited"), *("8x200mbit", "2x1gbit"),
    ]  # fmt: skip
    size = content["jobs"][0]["sizes"][0]
    assert (size["native"], size["rule"], size["rule_spec"], size["auto"]) == (None, 1.0, "ring", 0.5)
    with_library, without = content["overall"], content["overall_without_library"]
    assert (with_library["calls"], with_library["mean_regret_of_rule"]) == (5, None)
    assert (without["calls"], without["mean_regret_of_native"]) == (2, None)
    assert without["mean_regret_of_rule"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "does not hold a JSON object"),
        ('{"format": "stretto-table"}', "format"),
        (regret_text(JOBS, {}, []).replace('"auto": [', '"ring:segments=2": ['), "auto is missing"),
        (regret_text(WITHOUT_MPI, {}, []).replace('"ring": [', '"knomial": ['), "ring or auto is missing"),
        (regret_text(JOBS, {}, []).replace('"native": [', '"native": [\n 1.0,', 1), "numbers of samples"),
    ],
)
def test_another_file_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "regret.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(StrettoError, match=rf"regret.json(?!.*\n).*{message}"):
        read_jobs(file)


@pytest.mark.parametrize(
    ("panels", "titles"),
    [
        (Panels.COLLECTIVE, ["allreduce", "bcast"]),
        (Panels.MPI, ["Open MPI 4", "MPICH 5 (ofi)"]),
        (Panels.BOTH, ["allreduce, Open MPI 4", "bcast, Open MPI 4", "allreduce, MPICH 5 (ofi)"]),
    ],
)
def test_the_map_has_a_panel_for_each(panels: Panels, titles: list[str]) -> None:
    figure = map_figure(JOBS, panels)
    assert [axes.get_title() for axes in figure.axes if axes.get_title()] == titles
    first = figure.axes[0]
    assert [label.get_text() for label in first.get_yticklabels()] == [
        *("8 nodes, 200 Mbit/s", "2 nodes, links without limit")
    ]
    assert [label.get_text() for label in first.get_xticklabels()] == ["1\nKiB", "1\nMiB"]
    by_openmpi = ["0.89", "2.83"] if panels is Panels.MPI else ["1.00", "2.00"]
    assert [text.get_text() for text in first.texts][:2] == by_openmpi


def test_a_call_that_is_slower_is_marked() -> None:
    _, bcast, *_, scale = map_figure(JOBS, Panels.COLLECTIVE).axes
    assert len(bcast.get_lines()) == 1
    assert "a call is slower" in scale.get_xlabel()
    assert "slower" not in map_figure(JOBS[:1], Panels.COLLECTIVE).axes[-1].get_xlabel()


def test_gains_over_two_baselines_have_no_mean() -> None:
    figure = map_figure([*JOBS, *WITHOUT_MPI], Panels.COLLECTIVE)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["allreduce", "bcast", "allreduce, no MPI"]
    assert "the MPI default (sockets: the built-in rule)" in figure.get_suptitle()
    alone = map_figure(WITHOUT_MPI, Panels.COLLECTIVE)
    assert alone.get_suptitle() == "Stretto's default beside the built-in rule, no MPI"
    assert alone.axes[0].get_title() == "allreduce"
    assert "times as fast as the built-in rule" in alone.axes[-1].get_xlabel()


def test_few_cells_make_a_small_picture_in_which_they_are_no_wider_than_others() -> None:
    one = replace(JOBS[0], network="1x2", cells=JOBS[0].cells[:1])
    figure = map_figure([one], Panels.COLLECTIVE)
    figure.draw_without_rendering()
    panel = figure.axes[0].get_window_extent()
    width, height = panel.width / figure.dpi, panel.height / figure.dpi
    assert 0.3 <= width <= 1.0
    assert 0.15 <= height <= 0.5
    assert figure.get_figwidth() < 6
    assert figure.axes[-1].get_xlabel() == "times as fast as the MPI default"
    many = [replace(JOBS[0], collective=name) for name in "abcdefghijklm"]
    assert map_figure(many, Panels.COLLECTIVE).get_figwidth() == 9


def test_the_picture(tmp_path: Path) -> None:
    draw_map(JOBS, Panels.COLLECTIVE, tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("gain", "text"), [(0.5, "0.50"), (9.996, "10.0"), (25.04, "25.0"), (130.2, "130")])
def test_gains_are_short(gain: float, text: str) -> None:
    assert gain_text(gain) == text


def test_the_candidates_of_a_size() -> None:
    assert set(candidates("allreduce", [1] * 8, 1 << 10, "native")) == {
        "recursive_doubling", "rabenseifner", "circulant", "knomial:radix=4"
    }  # fmt: skip
    assert candidates("allreduce", [1] * 8, 1 << 10, "ring")[0] == "ring"
    assert rule_spec("allreduce", [1] * 8, 1 << 10, has_library=True) == "native"
    assert rule_spec("iallreduce", [1] * 8, 1 << 10, has_library=False) != "native"
    long = candidates("allreduce", [1] * 8, 16 << 20, "native")
    assert "ring:segment_bytes=256KiB" in long
    assert "recursive_doubling" not in long
    assert "chain" not in candidates("bcast", [1] * 8, 16 << 20, "native")  # it needs segments
    assert any(one.startswith("multilane") for one in candidates("allreduce", [2] * 4, 1 << 20, "native"))


def test_what_a_table_chooses_is_tried(samples: Path) -> None:
    tables = Tables([samples / "table.json"])
    library = "Open MPI v4.1.4"
    assert tables.specs(library, "allreduce", [1] * 8, 1 << 20) == ["ring:segment_bytes=256KiB"]
    assert tables.specs(library, "allreduce", [1] * 8, 1 << 10) == []
    assert tables.specs(library, "bcast", [1] * 8, 1 << 20) == []
    assert tables.specs("MPICH Version: 5.0.2", "allreduce", [1] * 8, 1 << 20) == []
    with pytest.raises(StrettoError, match=r"machine\.json"):
        Tables([samples / "machine.json"])
