# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.plots import runs as plots
from stretto.results.runs import Run, Series, summarize
from stretto.spec.collectives import COLLECTIVES, LinkBound

ALLREDUCE = COLLECTIVES["allreduce"]


def make_run(sizes: list[int], specs: list[str], places: list[bool]) -> Run:
    series = [
        Series(
            size, place, spec, spec, 1, [(1e-4 + size / (5e6 * (index + 1))) * f for f in (1, 1.1, 1.2)], True
        )
        for size in sizes
        for place in places
        for index, spec in enumerate(specs)
    ]
    return Run(ALLREDUCE, 0, "Open MPI v4.1.4", "0.1.0", 8, 8, [1] * 8, "float", series)


def test_a_panel_each_for_out_of_place_and_in_place() -> None:
    sizes = [1 << exponent for exponent in range(10, 27)]
    bound = LinkBound.for_lab(25e6, ALLREDUCE, [1] * 8)
    run = make_run(sizes, ["native", "ring", "auto"], [False, True])
    panels = plots.throughput_figure(run, summarize(run, bound), bound).axes
    assert [panel.get_title() for panel in panels] == ["out of place", "in place"]
    for panel in panels:
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        labels = [label.get_text() for label in panel.get_xticklabels()]
        assert labels[0] == "64\nMiB"
        assert len(labels) <= 9
        lines = {str(line.get_label()): line for line in panel.get_lines()}
        assert list(lines) == [
            "native (MPI default)", "ring", "auto (Stretto's choice)", "bound of 200mbit links",
        ]  # fmt: skip
        # Below 4 MiB the lab states no bound.
        assert np.min(np.asarray(lines["bound of 200mbit links"].get_xdata())) == 4 << 20
        assert lines["bound of 200mbit links"].get_linestyle() == "--"


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12, unique=True),
    st.integers(0, 40),
)
def test_a_bound_is_a_line_that_is_seen(exponents: list[int], least: int) -> None:
    sizes = [1 << exponent for exponent in exponents]
    bound = LinkBound(25e6, ALLREDUCE, [1] * 8, 1 << least)
    line = plots.bound_line(bound, sizes)
    if max(sizes) < 1 << least:
        assert line == []
        return
    places = [math.log2(size) for size, _ in line]
    assert places == sorted(places)
    # The line begins where the bound holds, and covers a part of the axis that ends with it.
    assert line[0][0] == max(min(sizes), 1 << least)
    assert places[-1] > places[0]
    assert places[-1] - places[0] >= 0.14 * (places[-1] - min(exponents))
    assert {limit for _, limit in line} == {bound.bandwidth(max(sizes))}


def test_a_single_size_and_no_bound() -> None:
    run = make_run([1000], ["native"], [True])
    figure = plots.throughput_figure(run, summarize(run, None), None)
    assert len(figure.axes) == 1
    assert figure.get_suptitle() == "MPI_Allreduce of float, in place, Open MPI v4.1.4, 8 ranks on 8 nodes"
    assert figure.axes[0].get_xlabel() == "message size (the buffer)"


def test_the_plot_says_which_collective_it_shows() -> None:
    run = make_run([8 << 20, 16 << 20], ["native", "ring"], [False])
    run.collective = COLLECTIVES["allgather"]
    bound = LinkBound.for_lab(25e6, run.collective, run.ppn)
    figure = plots.throughput_figure(run, summarize(run, bound), bound)
    assert figure.get_suptitle() == "MPI_Allgather of float, Open MPI v4.1.4, 8 ranks on 8 nodes"
    (axes,) = figure.axes
    assert axes.get_xlabel() == "message size (a rank's output)"
    assert axes.get_ylabel() == "algorithm bandwidth (MB/s)"
    limit = np.asarray(axes.get_lines()[-1].get_ydata())
    assert np.allclose(limit, 25 * 1448 / 1514 * 8 / 7)


def test_a_plot_of_what_was_hidden() -> None:
    run = make_run([1024, 4096], ["native", "auto"], [False])
    run.progress_thread = True
    run.series = [
        replace(one, form=form, computation=one.seconds, overlapped=[1.5 * second for second in one.seconds])
        for one in run.series
        for form in ("non-blocking", "persistent")
    ]
    figure = plots.overlap_figure(run, summarize(run, None))
    (axes,) = figure.axes
    assert (axes.get_ylabel(), axes.get_yscale()) == ("hidden (%)", "linear")
    assert figure.get_suptitle().endswith(", progress thread")
    lines = axes.get_lines()
    assert [line.get_label() for line in lines] == [
        f"{spec}, {form}"
        for spec in ("native (MPI default)", "auto (Stretto's choice)")
        for form in ("non-blocking", "persistent")
    ]
    assert [line.get_linestyle() for line in lines] == ["-", "--", "-", "--"]
    assert all(np.allclose(np.asarray(line.get_ydata()), 50) for line in lines)


def test_many_specs_stay_apart_and_the_legend_stays_inside(tmp_path: Path) -> None:
    specs = ["native", *(f"ring:segments={count}:window=8" for count in range(1, 10))]
    run = make_run([1024, 4096], specs, [False])
    rows = summarize(run, None)
    figure = plots.throughput_figure(run, rows, None)
    styles = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].get_lines()}
    assert len(styles) == len(specs)
    figure.savefig(tmp_path / "a.png")
    (legend,) = figure.legends
    frame = legend.get_window_extent()
    assert frame.x0 >= 0
    assert frame.x1 <= figure.bbox.x1

    plots.plot_run(run, rows, None, tmp_path / "b.png")
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


def test_the_plot_says_which_specs_were_used_and_what_is_doubtful(tmp_path: Path) -> None:
    run = make_run([1 << 10, 1 << 15, 1 << 20, 1 << 22], ["native", "ring", "auto"], [False])
    chosen = {1 << 10: "native", 1 << 15: "native", 1 << 20: "ring:segments=4", 1 << 22: "ring"}
    run.series = [replace(one, chosen=chosen[one.bytes]) if one.spec == "auto" else one for one in run.series]
    remark = "busy machine: others kept 1.3 of 2 cores of a-host busy meanwhile (load average before: 2.1)"
    figure = plots.throughput_figure(run, summarize(run, None), None, [remark])
    (legend,) = figure.legends
    assert [" ".join(text.get_text().split()) for text in legend.get_texts()] == [
        "native (MPI default)",
        "ring",
        "auto (Stretto's choice): native up to 32 KiB, ring:segments=4 from 1 MiB, ring from 4 MiB",
    ]
    assert legend.get_title().get_text().replace("\n", " ") == f"! {remark}"
    figure.savefig(tmp_path / "a.png")
    frame = legend.get_window_extent()
    assert frame.x0 >= 0
    assert frame.x1 <= figure.bbox.x1
    (line,) = [one for one in figure.axes[0].get_lines() if str(one.get_label()).startswith("auto")]
    assert len(np.asarray(line.get_xdata())) == 4


def test_one_spec_at_all_sizes_is_named_alone() -> None:
    run = make_run([1 << 20, 1 << 22], ["auto"], [False])
    run.series = [replace(one, chosen="ring") for one in run.series]
    (legend,) = plots.throughput_figure(run, summarize(run, None), None).legends
    assert [text.get_text() for text in legend.get_texts()] == ["auto (Stretto's choice): ring"]
    assert legend.get_title().get_text() == ""
