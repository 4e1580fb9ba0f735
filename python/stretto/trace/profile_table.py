# SPDX-License-Identifier: Apache-2.0
"""Prints a profile as tables."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.support.console import print_lines
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bytes, format_percent, format_place, format_seconds, three_digits
from stretto.trace.analysis import BLOCKING
from stretto.trace.profile_file import Bin, Calls, Profile, Training
from stretto.trace.table import clock_notes

_BAR = 24
"""The number of characters of the longest bar."""
_MOST_ROWS = 10
"""The number of kinds of calls that are listed. The file has all."""


def print_profile(its: Profile) -> None:
    """Print the kinds of calls that took most time, the histogram, and the training if there is one."""
    _calls_table(its).print()
    _histogram_table(its.histogram, its.seconds).print()
    lines = [
        (
            f"{format_place(its.ranks, its.nodes)}: {format_percent(its.share, 1)} of "
            f"{format_seconds(its.seconds)} inside collectives, {format_seconds(its.waiting)} of it "
            "waiting for late ranks; times are means over ranks, from the first call to the last end"
        ),
        *profile_clock_notes(its),
        *(_training_lines(its.training) if its.training else []),
    ]
    print_lines(lines)


def profile_clock_notes(its: Profile) -> list[str]:
    """Returns lines with what clocks could not tell; none if all ranks read the same clock."""
    return clock_notes(its.clock_error * 1e6, its.within_clock_errors, its.contradictions)


def _calls_table(its: Profile) -> ResultTable[Calls]:
    return ResultTable(
        [
            Column("most time in", _kind_text, left=True, is_key=True),
            Column("spec", lambda one: one.spec, left=True, is_key=True),
            Column("bytes", lambda one: format_bytes(one.bytes)),
            Column("calls", lambda one: str(one.calls)),
            Column("time", lambda one: _time(one.inside)),
            Column("a call", lambda one: _time(one.seconds.median)),
            Column("95 %", lambda one: _time(one.seconds.p95), detail=1),
            Column("arrivals apart", lambda one: _time(one.arrival.median), detail=2),
            Column("gap before", lambda one: _time(one.gap.median), detail=3),
        ],
        sorted(its.collectives, key=lambda one: -one.inside)[:_MOST_ROWS],
    )


def _kind_text(one: Calls) -> str:
    return one.collective if one.form == BLOCKING else f"{one.collective}, {one.form}"


def _time(seconds: float) -> str:
    return format_seconds(seconds) if seconds else "0"


def _histogram_table(bins: Sequence[Bin], seconds: float) -> ResultTable[Bin]:
    most_calls = max((one.calls for one in bins), default=1)
    most_time = max((one.inside for one in bins), default=1.0) or 1.0
    return ResultTable(
        [
            Column("collective", lambda one: one.collective, left=True, is_key=True),
            Column("bytes", lambda one: bin_text(one.begin)),
            Column("calls", lambda one: str(one.calls)),
            Column("", lambda one: "█" * round(_BAR * one.calls / most_calls), left=True, detail=2),
            Column("MB", lambda one: three_digits(one.total_bytes / 1e6), detail=1),
            Column("time", lambda one: _time(one.inside)),
            Column("of all", lambda one: format_percent(one.inside / seconds, 1) if seconds else ""),
            Column("", lambda one: "█" * round(_BAR * one.inside / most_time), left=True, detail=1),
        ],
        bins,
    )


def bin_text(begin: int) -> str:
    """Returns the sizes of a histogram bin: `1 KiB..2 KiB`."""
    return f"{format_bytes(begin)}..{format_bytes(2 * begin)}" if begin else "0"


def _training_lines(training: Training) -> list[str]:
    total = sum(one.bytes for one in training.gradients)
    messages = sum(one.per_step for one in training.messages)
    return [
        (
            f"{training.framework}: {training.steps} steps of {format_seconds(training.step_seconds)}, "
            f"{len(training.gradients)} gradients of {total / 1e6:.3g} MB in {messages:.1f} messages a step"
        ),
        (
            f"the last gradient is ready {format_seconds(training.compute_seconds)} after the start of a "
            f"step, ± {format_seconds(training.uncertainty_seconds)}: the time of a step without "
            "communication"
        ),
    ]
