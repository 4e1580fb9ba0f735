# SPDX-License-Identifier: Apache-2.0
"""The style that all Matplotlib charts share: colours, markers, axis labels, the legend."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stretto.support.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Wong's palette for colour-blind readers, without its yellow, which is too pale for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
NATIVE_COLOUR = "#333333"
# From worse to better, white between them: shades of two colours of the palette.
DIVERGING = ("#B34700", "#F0A36B", "#FFFFFF", "#6FB1DC", "#00507F")
# From the first thing of a sequence to the last, dark enough for white text.
_SEQUENCE = ("#00507F", "#0072B2", "#00827A", "#2E7D32", "#8A6D00", "#C05000", "#A02C5A")
MARKERS = "osD^vP"
LINESTYLES = ("-", "--", "-.")
_MOST_SIZE_LABELS = 9
_NARROWEST = 1.5
"""A logarithmic axis whose ends differ by a smaller factor would have no room for two labels."""


def sequence_colours(count: int) -> list[str]:
    """Colours for `count` things in a sequence; distant ones differ in hue."""
    stops = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in _SEQUENCE]
    colours = []
    for index in range(count):
        place = index / max(count - 1, 1) * (len(stops) - 1)
        left = min(int(place), len(stops) - 2)
        mixed = [
            round(a + (b - a) * (place - left)) for a, b in zip(stops[left], stops[left + 1], strict=True)
        ]
        colours.append("#" + "".join(f"{one:02X}" for one in mixed))
    return colours


def legend_below(figure: Figure, width: float, remarks: Sequence[str] = ()) -> None:
    """Put one legend below all panels, with the lines of the first panel, and make room for it.

    `width` is that of the figure, in inches. `remarks`: warnings to put above the legend.
    """
    handles, labels = figure.axes[0].get_legend_handles_labels()
    # A letter is about 0.08 inches wide, and a line sample takes 0.7.
    labels = [textwrap.fill(label, int((width - 0.7) / 0.08)) for label in labels]
    title = "\n".join(textwrap.fill(f"! {one}", int(width / 0.08)) for one in remarks)
    columns = max(1, int(width / (0.7 + 0.08 * max(len(line) for one in labels for line in one.split("\n")))))
    rows = [labels[start : start + columns] for start in range(0, len(labels), columns)]
    lines = sum(max(one.count("\n") + 1 for one in row) for row in rows) + len(title.splitlines())
    figure.set_figheight(4.6 + 0.2 * lines)
    legend = figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=min(columns, len(labels)),
        frameon=False,
        fontsize=9,
        title=title,
        title_fontsize=9,
    )
    legend.get_title().set_color(DIVERGING[0])


def label_sizes(axes: Axes, sizes: list[int]) -> None:
    """Label the x axis with message sizes, as many as there is room for."""
    step = -(-len(sizes) // _MOST_SIZE_LABELS)
    # Labels are counted from the largest size, which matters most.
    labelled = sizes[::-1][::step]
    axes.set_xticks(labelled, [format_bytes(size).replace(" ", "\n") for size in labelled])
    axes.set_xticks([], minor=True)


def label_numbers(axis: Axis) -> None:
    """Label a logarithmic axis with numbers as people write them: `0.5`, `20,000`."""
    _label_log_axis(axis, lambda value: f"{value:,.0f}" if value >= 1000 else f"{value:g}")


def label_counts(axis: Axis) -> None:
    """Label an axis with whole numbers only."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  loaded with the rest

    axis.set_major_locator(MaxNLocator("auto", integer=True))


def label_seconds(axis: Axis) -> None:
    """Label an axis of seconds with times as people write them: `1 ms`, `100 µs`."""
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415  loaded with the rest

    if axis.get_scale() == "log":
        _label_log_axis(axis, format_seconds)
    else:
        axis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value) if value else "0"))


def _label_log_axis(axis: Axis, text: Callable[[float], str]) -> None:
    """Label a logarithmic axis, with more ticks where the range is narrow."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415  loaded with the rest

    low, high = axis.get_view_interval()
    if high / low < _NARROWEST:
        middle = math.sqrt(low * high)
        low, high = middle / _NARROWEST, middle * _NARROWEST
        (axis.axes.set_ylim if axis is axis.axes.yaxis else axis.axes.set_xlim)(low, high)
    decades = high / low
    narrow = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    subdivisions = narrow if decades < 12 else (1, 2, 5) if decades < 500 else (1,)
    axis.set_major_locator(LogLocator(base=10, subs=subdivisions, numticks=30))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())
