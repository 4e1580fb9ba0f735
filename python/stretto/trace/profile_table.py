# SPDX-License-Identifier: Apache-2.0
"""Prints a profile as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.support.console import console_for, print_lines
from stretto.support.units import format_bytes, format_place, format_seconds, three_digits
from stretto.trace.analysis import BLOCKING
from stretto.trace.profile_file import Bin, Profile, Training

_BAR = 24
"""Characters of the longest bar."""
_MOST_ROWS = 10
"""How many kinds of calls are listed; the file has all."""


def print_profile(its: Profile) -> None:
    """Print the kinds of calls that took most time, the histogram, and the training if there is one."""
    tables = [_calls_table(its), _histogram_table(its.histogram, its.seconds)]
    console = console_for(*tables)
    for table in tables:
        console.print(table)
    lines = [
        (
            f"{format_place(its.ranks, its.nodes)}: {100 * its.share:.1f} % of "
            f"{format_seconds(its.seconds)} inside collectives, {format_seconds(its.waiting)} of it "
            "waiting for late ranks; times are means over ranks, from the first call to the last end"
        ),
        *(_training_lines(its.training) if its.training else []),
    ]
    print_lines(console, lines)


def _calls_table(its: Profile) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column("most time in", no_wrap=True)
    table.add_column("spec", overflow="fold")
    for title in ("bytes", "calls", "time", "a call", "95 %", "arrivals apart", "gap before"):
        table.add_column(title, justify="right", no_wrap=True)
    for one in sorted(its.collectives, key=lambda one: -one.inside)[:_MOST_ROWS]:
        figures = (one.inside, one.seconds.median, one.seconds.p95, one.arrival.median, one.gap.median)
        table.add_row(
            one.collective if one.form == BLOCKING else f"{one.collective}, {one.form}",
            one.spec,
            format_bytes(one.bytes),
            str(one.calls),
            *(_time(seconds) for seconds in figures),
        )
    return table


def _time(seconds: float) -> str:
    return format_seconds(seconds) if seconds else "0"


def _histogram_table(bins: Sequence[Bin], seconds: float) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for title, justify in (
        ("collective", "left"), ("bytes", "right"), ("calls", "right"), ("", "left"),
        ("MB", "right"), ("time", "right"), ("of all", "right"), ("", "left"),
    ):  # fmt: skip
        table.add_column(title, justify="right" if justify == "right" else "left", no_wrap=True)
    most_calls = max((one.calls for one in bins), default=1)
    most_time = max((one.inside for one in bins), default=1.0) or 1.0
    for one in bins:
        table.add_row(
            one.collective,
            bin_text(one.begin),
            str(one.calls),
            "█" * round(_BAR * one.calls / most_calls),
            three_digits(one.total_bytes / 1e6),
            _time(one.inside),
            f"{100 * one.inside / seconds:.1f} %" if seconds else "",
            "█" * round(_BAR * one.inside / most_time),
        )
    return table


def bin_text(begin: int) -> str:
    """The sizes of a histogram bin: `1 KiB..2 KiB`."""
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
