# SPDX-License-Identifier: Apache-2.0
"""Panels: the axes of bars and of times."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from stretto.plots import drawing
from stretto.plots.panels import Axis, Panel, Scale
from stretto.plots.style import label_seconds


def drawn(panel: Panel) -> Figure:
    figure = Figure()
    drawing._draw_panel(figure.subplots(), panel, list(panel.curves))
    return figure


def test_stacked_bars_begin_at_zero_and_add_up() -> None:
    curves = {"allreduce": {16.0: 2.0, 1024.0: 3.0}, "bcast": {16.0: 1.0, 1024.0: 0.0}}
    size, time = Axis("message size, from", Scale.BYTES), Axis("", Scale.SECONDS)
    (axes,) = drawn(Panel("time", curves, size, time, bars=True, stacked=True)).axes
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim() == pytest.approx((0.0, 1.05 * 3))
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_y(), bar.get_height()) for bar in axes.patches] == [  # type: ignore[attr-defined]
        (0, 0, 2), (1, 0, 3), (0, 2, 1), (1, 3, 0),
    ]  # fmt: skip
    assert [label.get_text() for label in axes.get_xticklabels()] == ["16\nB", "1\nKiB"]


@pytest.mark.parametrize(
    ("scale", "limits", "shown"),
    [
        ("linear", (0.0, 4e-3), {"0", "1 ms", "2 ms"}),
        ("log", (1e-6, 1e-1), {"1 µs", "100 µs", "1 ms", "10 ms"}),
        ("log", (1e-3, 5e-3), {"1 ms", "1.5 ms", "2 ms"}),
    ],
)
def test_times_have_units(scale: str, limits: tuple[float, float], shown: set[str]) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.set_yscale(scale)
    axes.set_ylim(*limits)
    label_seconds(axes.yaxis)
    figure.draw_without_rendering()
    assert shown <= {label.get_text() for label in axes.get_yticklabels()}


@pytest.mark.parametrize("most", [1.0, 3.0, 7.0])
def test_counts_are_whole_numbers(most: float) -> None:
    size, calls = Axis("message size, from", Scale.BYTES), Axis("calls", Scale.COUNT)
    figure = drawn(Panel("calls", {"allreduce": {16.0: most}}, size, calls, bars=True, stacked=True))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert all(tick == int(tick) for tick in axes.get_yticks())
