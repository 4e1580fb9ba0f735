# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto.cli.main import app
from stretto.support.errors import StrettoError
from stretto_research.reproduce.catalog import FIGURES, find_figures
from stretto_research.reproduce.figure import PAPERS, Bench, Result, Verdict
from stretto_research.reproduce.lines import range_text, speedups
from stretto_research.reproduce.node_aware import crossover
from stretto_research.reproduce.page import page_text

DOCS = Path(__file__).parents[2] / "docs"
# The papers' figures that can be simulated, modelled or replayed: all but those on GPUs.
WANTED = {
    "pipelined": {f"fig{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14)},
    "training": {"table1", "table3", *(f"fig{number}" for number in (1, 2, 3, 4, 5, 6, 7, 9, 10))},
    "node-aware": {f"fig{number}" for number in (5, 10, 11, 12, 13, 14, 15, 16, 17)},
    "models": {"side-by-side"},
}


def test_all_figures_are_there() -> None:
    assert {paper: {one.number for one in FIGURES if one.paper == paper} for paper in PAPERS} == WANTED


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    """The results of the short subset."""
    return {one.name: one.make(Bench(quick=True)) for one in FIGURES if one.in_ci}


@pytest.mark.long
def test_the_short_subset_agrees_where_it_should(results: dict[str, Result]) -> None:
    assert {name.split("/")[0] for name in results} == set(PAPERS)
    for name, result in results.items():
        assert result.panels, name
        assert result.claims, name
        for panel in result.panels:
            for label, curve in panel.curves.items():
                assert curve, (name, panel.title, label)
                assert min(curve.values()) >= 0, (name, panel.title, label)
        for claim in result.claims:
            assert claim.verdict == Verdict.AGREES or claim.why, (name, claim.reported)
    verdicts = {name: [claim.verdict for claim in result.claims] for name, result in results.items()}
    agreeing = ["pipelined/fig4", "training/fig4", "training/fig1", "node-aware/fig5", "models/side-by-side"]
    for name in agreeing:
        assert set(verdicts[name]) == {Verdict.AGREES}, name
    assert set(verdicts["pipelined/fig8"]) == {Verdict.AGREES}
    # These must differ: ResNet50 has too little communication to gain the paper's 15 %, and
    # the simulated network is full duplex, which the paper's libraries were not.
    assert Verdict.DIFFERS in verdicts["training/table3"]
    assert Verdict.DIFFERS in verdicts["training/fig3"]


@pytest.mark.long
def test_the_page_tells_all(results: dict[str, Result]) -> None:
    by_name = {one.name: one for one in FIGURES}
    page = page_text([(by_name[name], result) for name, result in results.items()])
    for name, result in results.items():
        assert f"`{name}`" in page
        for claim in result.claims:
            assert claim.reported in page
            assert claim.came_out in page
    assert "**differs**" in page


def test_the_committed_page_has_all_figures() -> None:
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    for figure in FIGURES:
        assert f"`{figure.name}`" in page


def test_the_command_draws(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    result = CliRunner().invoke(
        app,
        ["reproduce", "training/fig4", "fig7", "--quick", "-o", str(tmp_path / "new"), "--page", str(page)],
    )
    assert result.exit_code == 0, result.output
    drawn = {file.name for file in (tmp_path / "new").iterdir()}
    assert drawn == {"training-fig4.png", "training-fig7.png", "pipelined-fig7.png"}
    assert all((tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG") for name in drawn)
    assert "a latency of 2 us" in page.read_text(encoding="utf-8")


def test_names_of_figures() -> None:
    assert [one.name for one in find_figures(["fig4"])] == ["pipelined/fig4", "training/fig4"]
    assert {one.paper for one in find_figures(["node-aware"])} == {"node-aware"}
    with pytest.raises(StrettoError, match="fig99: no such figure; there are pipelined/"):
        find_figures(["fig99"])


def test_a_name_is_needed() -> None:
    result = CliRunner().invoke(app, ["reproduce"])
    assert result.exit_code == 2
    assert "name a figure" in result.stderr


def test_where_two_curves_cross() -> None:
    small = {8: 1.0, 16: 1.0, 32: 2.0}
    large = {8: 2.0, 16: 1.5, 32: 1.5}
    assert 16 < crossover(large, small) < 32
    assert crossover(small, large) == 8
    assert crossover({8: 2.0}, {8: 1.0}) == float("inf")


def test_gains_and_ranges() -> None:
    lines = {"slow": {8: 4.0, 16: 9.0}, "fast": {8: 2.0, 16: 3.0}}
    assert speedups(lines, "slow", "fast", 16) == [3.0]
    assert range_text([1.0, 1.004]) == "1.00 x"
    assert range_text([1.0, 2.5], "%") == "1.00-2.50 %"
