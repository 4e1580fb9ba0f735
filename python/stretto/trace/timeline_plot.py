# SPDX-License-Identifier: Apache-2.0
"""Draws timelines of calls: time to the right, and lanes for copies, messages and reductions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stretto.plots.pictures import new_figure, save_figure
from stretto.plots.style import NATIVE_COLOUR, sequence_colours
from stretto.support.units import seconds_unit
from stretto.trace.table import call_text, figures_text, time_text
from stretto.trace.timeline import Span, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 11.0
_BARS_WIDTH = 9.4  # about
_LANE_INCHES = 0.34
_FLIGHT_LANES = 0.5
_GAP_LANES = 0.45
_FONT_SIZE = 7
_DIGIT_INCHES = 0.065
_NO_GAP = 0.01
"""Microseconds below which two bars count as adjacent."""
_MOST_IN_LEGEND = 10
"""The most segments that the legend names. If there are more, it shows their range."""
_NUMBERED = 8
"""The step of the numbers that are shown for bars that are too narrow for their numbers."""
_WHOLE = "#8FA3B5"
"""The colour of bars that belong to no segment."""
_WAIT = "#E4E4E4"


@dataclass(frozen=True, slots=True)
class _Lane:
    """A row of bars, or a row for each flight."""

    label: str
    spans: Sequence[Span]
    rows: int = 1
    waits: Sequence[Span] = ()
    is_thin: bool = False
    """Whether its bars may be too short to be seen without an edge."""

    @property
    def height(self) -> float:
        return 1.0 if self.rows == 1 else self.rows * _FLIGHT_LANES


def draw_timelines(timelines: Sequence[Timeline], file: Path) -> None:
    """Draw the calls; the file's suffix is the format."""
    save_figure(timelines_figure(timelines), file, dpi=130)


def timelines_figure(timelines: Sequence[Timeline]) -> Figure:
    """Returns a figure of the calls below each other, on one scale of time."""
    every = [_lanes(one) for one in timelines]
    heights = [_height(lanes) * _LANE_INCHES for lanes in every]
    figure = new_figure(_WIDTH, sum(heights) + 0.7 * len(every) + 0.8)
    panels = figure.subplots(len(every), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    longest = max(one.time for one in timelines)
    factor, unit = seconds_unit(longest * 1e-6)
    scale = 1e-6 / factor
    panels[0].set_xlim(0, longest * scale * 1.005)
    # A segment has the same colour in all panels, so that one legend serves them all.
    segments = max(one.segments for one in timelines)
    for axes, timeline, lanes in zip(panels, timelines, every, strict=True):
        _Panel(axes, timeline, scale, _BARS_WIDTH / longest, segments).draw(lanes)
    panels[-1].set_xlabel(f"{unit} since the call began", fontsize=9)
    _draw_legend(figure, timelines)
    return figure


def _lanes(timeline: Timeline) -> list[_Lane]:
    """Returns the lanes from top to bottom, without empty lanes except for that of messages."""
    its = timeline.figures
    flights = 1 + max((span.row for span in timeline.messages), default=0)
    messages = "in the MPI library" if timeline.is_by_library else "messages"
    if flights > 1:
        messages += f"\nin {flights} flights"
    elif timeline.segments == 1:
        messages += "\nby round"
    parts = ",\nin parts" if any(one.span.part is not None for one in timeline.copies) else ""
    lanes = [
        _Lane(f"to the host{parts}\n{time_text(its.to_host)}", [one.span for one in timeline.to_host]),
        _Lane(f"{messages}\n{time_text(its.messages)}", timeline.messages, flights, timeline.waits),
        _Lane(f"reductions\n{time_text(its.reductions)}", timeline.reductions, is_thin=True),
        _Lane(f"back{parts}\n{time_text(its.to_device)}", [one.span for one in timeline.to_device]),
    ]
    return [lane for lane in lanes if lane.spans or lane is lanes[1]]


def _height(lanes: Sequence[_Lane]) -> float:
    return sum(lane.height + _GAP_LANES for lane in lanes) + _GAP_LANES


class _Panel:
    """The panel of one call."""

    def __init__(self, axes: Axes, timeline: Timeline, scale: float, inches: float, segments: int) -> None:
        self._axes = axes
        self._timeline = timeline
        self._scale = scale
        self._inches = inches
        """The width of one microsecond, in inches."""
        self._segments = segments
        """The most segments of any panel."""

    def draw(self, lanes: Sequence[_Lane]) -> None:
        axes = self._axes
        top = _GAP_LANES
        middles = []
        for lane in lanes:
            self._draw_lane(lane, top)
            middles.append(top + lane.height / 2)
            top += lane.height + _GAP_LANES
        axes.set_ylim(top, 0)
        axes.set_yticks(middles, [lane.label for lane in lanes], fontsize=8)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(which="major", axis="x", alpha=0.3)
        axes.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        end = self._timeline.time * self._scale
        axes.axvline(end, color=NATIVE_COLOUR, linewidth=0.8)
        axes.set_title(call_text(self._timeline.call), fontsize=9.5, loc="left", pad=18)
        axes.annotate(
            figures_text(self._timeline), (0, 1), (0, 3), xycoords="axes fraction", fontsize=8,
            textcoords="offset points", va="bottom", color="#444444",
        )  # fmt: skip

    def _draw_lane(self, lane: _Lane, top: float) -> None:
        height = lane.height / lane.rows
        bar = height * 0.88 if lane.rows > 1 else height
        numbers = [number for span in lane.spans if (number := self._number(span)) is not None]
        is_by_segment = self._timeline.segments > 1
        colours = sequence_colours(self._segments if is_by_segment else 1 + max(numbers, default=0))
        is_narrow = lane.rows == 1 and all(
            self._inches_of(span.begin, span.end) < _inches_of_text(str(self._number(span)))
            for span in lane.spans
        )
        for row in range(lane.rows):
            at = (top + row * height, bar)
            self._draw_bars([(span, _WAIT) for span in lane.waits if span.row == row], at)
            bars = [
                (span, _WHOLE if (number := self._number(span)) is None else colours[number])
                for span in sorted(lane.spans)
                if lane.rows == 1 or span.row == row
            ]
            self._draw_bars(bars, at, is_thin=lane.is_thin)
            if not lane.is_thin and not is_narrow:
                self._draw_numbers(bars, at)
        if is_narrow and not lane.is_thin:
            self._number_some(lane.spans, top)

    def _number(self, span: Span) -> int | None:
        """Returns the segment of a span or, in a call of one segment, the part or the round."""
        return span.segment if self._timeline.segments > 1 else span.part

    def _inches_of(self, begin: float, end: float) -> float:
        return (end - begin) * self._inches

    def _draw_bars(
        self, bars: Sequence[tuple[Span, str]], at: tuple[float, float], *, is_thin: bool = False
    ) -> None:
        if not bars:
            return
        # Adjacent bars of one colour are also drawn as one, so that no light shows through between them.
        for colour, run in _runs(bars):
            length = run.end - run.begin
            self._axes.broken_barh(
                [(run.begin * self._scale, length * self._scale)], at, facecolors=colour, linewidth=0
            )
        times = [(span.begin * self._scale, (span.end - span.begin) * self._scale) for span, _ in bars]
        # A white edge divides bars, but hides bars that are no wider than it. Short bars that must be seen
        # have an edge of their own colour.
        edges = [
            colour if is_thin else "white" if self._inches_of(span.begin, span.end) > 0.03 else "none"
            for span, colour in bars
        ]
        self._axes.broken_barh(
            times, at, facecolors=[colour for _, colour in bars], edgecolors=edges, linewidth=0.5
        )

    def _draw_numbers(self, bars: Sequence[tuple[Span, str]], at: tuple[float, float]) -> None:
        """Write numbers into bars that are wide enough. Adjacent bars with the same number share one."""
        for number, group in groupby(bars, key=lambda bar: self._number(bar[0])):
            own = list(group)
            text = "whole call" if number is None else str(number)
            begin, end = own[0][0].begin, own[-1][0].end
            if self._inches_of(begin, end) < _inches_of_text(text):
                continue
            self._axes.text(
                (begin + end) / 2 * self._scale, at[0] + at[1] / 2, text, fontsize=_FONT_SIZE, ha="center",
                va="center_baseline", color="white",
                bbox={"facecolor": own[0][1], "edgecolor": "none", "pad": 0.4},
            )  # fmt: skip

    def _number_some(self, spans: Sequence[Span], top: float) -> None:
        """Write the numbers of narrow bars above the bars, as far as there is room."""
        free = -1.0
        for span in sorted(spans):
            number = self._number(span)
            middle = (span.begin + span.end) / 2 * self._inches
            width = _inches_of_text(str(number))
            if number is None or number % _NUMBERED != 0 or middle - width / 2 < free:
                continue
            free = middle + width / 2
            self._axes.text(
                (span.begin + span.end) / 2 * self._scale, top - 0.06, str(number), fontsize=_FONT_SIZE,
                ha="center", va="bottom", color="#444444",
            )  # fmt: skip


def _runs(bars: Sequence[tuple[Span, str]]) -> Iterator[tuple[str, Span]]:
    """Yields adjacent bars of one colour as one bar."""
    run: tuple[str, Span] | None = None
    for span, colour in bars:
        if run and run[0] == colour and span.begin - run[1].end < _NO_GAP:
            run = (colour, Span(run[1].begin, span.end))
            continue
        if run:
            yield run
        run = (colour, span)
    if run:
        yield run


def _inches_of_text(text: str) -> float:
    return _DIGIT_INCHES * len(text) + 0.03


def _has_whole_call(timeline: Timeline) -> bool:
    """Whether a bar belongs to no segment of a call."""
    known = timeline.segments > 1 or timeline.is_by_library
    return known and any(span.segment is None for lane in _lanes(timeline) for span in lane.spans)


def _draw_legend(figure: Figure, timelines: Sequence[Timeline]) -> None:
    from matplotlib.legend_handler import HandlerTuple  # noqa: PLC0415  loaded with the rest
    from matplotlib.patches import Patch  # noqa: PLC0415  as above

    count = max(one.segments for one in timelines)
    colours = sequence_colours(count)
    entries: dict[str, Any] = {}
    if 1 < count <= _MOST_IN_LEGEND:
        entries = {f"segment {one}": Patch(color=colour) for one, colour in enumerate(colours)}
    elif count > 1:
        shades = [Patch(color=colour, linewidth=0) for colour in sequence_colours(2 * _MOST_IN_LEGEND)]
        entries[f"segments 0 to {count - 1}"] = tuple(shades)
    if count > 1 and any(_has_whole_call(one) for one in timelines):
        entries["the whole call"] = Patch(color=_WHOLE)
    if any(one.waits for one in timelines):
        entries["a flight waits for the copy of its segment"] = Patch(color=_WAIT)
    if entries:
        figure.legend(
            list(entries.values()), list(entries), loc="outside lower center", ncols=min(6, len(entries)),
            frameon=False, fontsize=8.5, handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
            handlelength=4.0 if count > _MOST_IN_LEGEND else 2.0,
        )  # fmt: skip
