# SPDX-License-Identifier: Apache-2.0
"""Draws the map: networks by sizes, coloured by how many times faster than the baseline Stretto is."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stretto.plots.pictures import new_figure, save_figure
from stretto.plots.style import DIVERGING
from stretto.support.units import format_bytes
from stretto_research.regret.figures import Job, Spot, baselines, by_baseline, mean_gain
from stretto_research.regret.libraries import parse_library
from stretto_research.regret.networks import parse_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A page of the README is 900 pixels wide: a font of 7 points is 10 pixels high there.
_WIDTH = 9.0
_LEAST_WIDTH = 4.6
"""The scale and its label need this width."""
_DPI = 200
_CELL_WIDTH = 0.42
"""The largest width; in a picture with many cells, they are narrower."""
_CELL_HEIGHT = 0.19
_MOST_ENLARGED = 1.8
"""The largest factor by which a picture with few cells enlarges them."""
_MOST_COLUMNS = 24
_LINE = "#DDDDDD"
_MARK = "v"
_LEAST, _MOST = 0.5, 4.0
"""The gains at the ends of the colours."""
_DARK = 0.55
"""The share of the way to either end of the colours from which on text is white."""


class Panels(StrEnum):
    """What each panel of the map is for. Its cells are means over the rest."""

    COLLECTIVE = "collective"
    MPI = "mpi"
    BOTH = "both"


def draw_map(jobs: Sequence[Job], panels: Panels, file: Path) -> None:
    """Draw the gains of all jobs."""
    save_figure(map_figure(jobs, panels), file, dpi=_DPI)


def map_figure(jobs: Sequence[Job], panels: Panels) -> Figure:
    """A figure with a panel for each collective, each MPI library, or each of both."""
    networks = {job.network: parse_network(job.network).label for job in jobs}
    sizes = sorted({cell.bytes for job in jobs for cell in job.cells})
    title_of = _titles(jobs, panels)
    titles = list(dict.fromkeys(map(title_of, jobs)))
    columns = min(len(titles), max(1, _MOST_COLUMNS // max(1, len(sizes))))
    rows = math.ceil(len(titles) / columns)
    frame = _Frame([*networks.values()], len(sizes), columns)
    words = textwrap.wrap(
        f"Stretto's default beside {baselines(jobs)}, {_means(jobs, panels)}", round(14 * frame.width)
    )
    lines = [f"times as fast as {baselines(jobs)}"]
    if any(cell.is_slower for job in jobs for cell in job.cells):
        lines.append("▼ a call is slower by 3 % or more, beyond its 95 % interval")
    label = ("\n" if frame.is_small else "   ·   ").join(lines)
    figure = new_figure(frame.width, frame.height(rows, len(words), label.count("\n") + 1))
    grid = figure.subplots(rows, columns, squeeze=False)
    colours = _Colours()
    for place, (axes, title) in enumerate(zip(grid.flat, titles, strict=False)):
        spots = [Spot(job, cell) for job in jobs if title_of(job) == title for cell in job.cells]
        _draw_panel(axes, spots, [*networks], sizes, colours)
        axes.set_title(title, fontsize=9)
        names = networks.values() if place % columns == 0 else [""] * len(networks)
        axes.set_yticks(range(len(networks)), names)
        if frame.is_small:
            axes.set_box_aspect(frame.aspect)
            # The layout leaves room for names on the left of the place that the panel has.
            axes.set_anchor("W")
    for axes in grid.flat[len(titles) :]:
        axes.set_axis_off()
    _draw_scale(figure, grid, colours, label)
    figure.suptitle("\n".join(words), fontsize=10)
    return figure


class _Frame:
    """The sizes of the picture in inches. Few cells make a small picture; many get narrower in a full one."""

    def __init__(self, networks: Sequence[str], sizes: int, columns: int) -> None:
        # The names stay as they are; cells are enlarged.
        names = 0.3 + 0.048 * max(map(len, networks), default=0)
        cells = columns * (0.2 + _CELL_WIDTH * sizes)
        self.is_small = names + cells < _WIDTH
        enlarged = min(_MOST_ENLARGED, (_WIDTH - names) / cells) if self.is_small else 1.0
        self.width = min(_WIDTH, max(_LEAST_WIDTH, names + enlarged * cells))
        self._panel_height = enlarged * _CELL_HEIGHT * len(networks)
        self.aspect = self._panel_height / (enlarged * _CELL_WIDTH * max(1, sizes))
        """Height by width of a panel."""

    def height(self, rows: int, title_lines: int, label_lines: int) -> float:
        """The height of the picture: the title, the panels with their own titles and sizes, the scale."""
        if not self.is_small:
            return 1.25 + rows * (0.5 + self._panel_height)
        return 0.42 + 0.25 * title_lines + 0.15 * label_lines + rows * (0.47 + self._panel_height)


class _Colours:
    """The colour of each gain."""

    def __init__(self) -> None:
        from matplotlib.cm import ScalarMappable  # noqa: PLC0415  slow to load, and only plots need it
        from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm  # noqa: PLC0415  as above

        self._scale = TwoSlopeNorm(0.0, math.log2(_LEAST), math.log2(_MOST))
        self._map = LinearSegmentedColormap.from_list("gain", DIVERGING)
        self.scale = ScalarMappable(self._scale, self._map)

    def of_cell(self, gain: float) -> tuple[Any, str]:
        """The colour of a cell, and that of the text in it."""
        logarithm = math.log2(min(_MOST, max(_LEAST, gain)))
        place = float(self._scale(logarithm))
        return self._map(place), "white" if abs(2 * place - 1) > _DARK else "black"


def _titles(jobs: Sequence[Job], panels: Panels) -> Callable[[Job], str]:
    """The function that gives a job the title of its panel. Gains over two baselines have no mean."""
    is_mixed = len(by_baseline(jobs)) > 1

    def title(job: Job) -> str:
        if panels is Panels.MPI:
            return _library(job)
        is_named = panels is Panels.BOTH or (is_mixed and not job.has_library)
        return f"{job.collective}, {_library(job)}" if is_named else job.collective

    return title


def _library(job: Job) -> str:
    return parse_library(job.mpi).label


def _means(jobs: Sequence[Job], panels: Panels) -> str:
    """A text that says what the cells are means of."""
    libraries = list(dict.fromkeys(map(_library, by_baseline(jobs)[0])))
    collectives = list(dict.fromkeys(job.collective for job in jobs))
    match panels:
        case Panels.COLLECTIVE if len(libraries) > 1:
            return f"mean of {', '.join(libraries)}"
        case Panels.MPI if len(collectives) > 1:
            return f"mean of {', '.join(collectives)}"
    return libraries[0] if len(libraries) == 1 else f"{len(libraries)} MPI libraries"


def _draw_panel(
    axes: Axes, spots: Sequence[Spot], networks: Sequence[str], sizes: Sequence[int], colours: _Colours
) -> None:
    """Draw the cells of a panel, each with the mean gain of its calls."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415  slow to load, and only plots need it

    for row, network in enumerate(networks):
        for column, size in enumerate(sizes):
            here = [spot.cell for spot in spots if spot.job.network == network and spot.cell.bytes == size]
            if not here:
                continue
            gain = mean_gain(here)
            fill, ink = colours.of_cell(gain)
            axes.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=fill, edgecolor=_LINE, lw=0.4)
            )
            axes.text(column, row, gain_text(gain), ha="center", va="center", fontsize=6.5, color=ink)
            if any(cell.is_slower for cell in here):
                axes.plot(column + 0.38, row + 0.3, marker=_MARK, markersize=2.4, color=ink)
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(len(networks) - 0.5, -0.5)
    axes.set_xticks(range(len(sizes)), [format_bytes(size).replace(" ", "\n") for size in sizes])
    axes.tick_params(labelsize=7, length=0)
    axes.set_facecolor("#EEEEEE")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_scale(figure: Figure, grid: Any, colours: _Colours, label: str) -> None:
    inches = min(0.6 * _WIDTH, 0.85 * figure.get_figwidth())
    bar = figure.colorbar(
        colours.scale, ax=grid, location="bottom", aspect=11 * inches, shrink=inches / figure.get_figwidth(),
        pad=0.01, panchor=False,
    )  # fmt: skip
    ticks = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0)
    bar.set_ticks([math.log2(one) for one in ticks], labels=[f"{one:g}" for one in ticks])
    bar.ax.tick_params(labelsize=7.5)
    bar.set_label(label, fontsize=8.5)


def gain_text(gain: float) -> str:
    """The gain in at most four characters."""
    return f"{gain:.2f}" if gain < 9.995 else f"{gain:.1f}" if gain < 99.95 else f"{gain:.0f}"
