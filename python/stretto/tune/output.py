# SPDX-License-Identifier: Apache-2.0
"""What `stretto tune` prints: its progress, the choices by size, and where the table is."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.spec.labels import NATIVE_LABEL
from stretto.spec.native import NATIVE
from stretto.support.console import Bar, console_for, print_lines
from stretto.support.units import format_bytes, format_seconds, seconds_unit, three_digits
from stretto.tune.findings import CallKind, Choice
from stretto.tune.session import Tuning
from stretto.tune.table import geometric_mean_gain, rule_text

_MEAN_FROM, _MEAN_TO = 256 << 10, 16 << 20


class _TimeLeft(ProgressColumn):
    """The part of the budget that is left."""

    def render(self, task: Task) -> Text:
        """`4:12 left`"""
        left = max(0, round((task.total or 0.0) - (task.elapsed or 0.0)))
        return Text(f"{left // 60}:{left % 60:02} left")


class ProgressDisplay:
    """A bar on standard error while its block runs, as long as the budget."""

    def __init__(self, budget: float) -> None:
        self._begin = time.monotonic()
        self._console = Console(stderr=True)
        self._bar = Bar(TextColumn("{task.description}"), BarColumn(), _TimeLeft(), console=self._console)
        self._task = self._bar.add_task("starting", total=budget)

    def __enter__(self) -> ProgressDisplay:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self) -> None:
        """Show that time has passed."""
        self._bar.update(self._task, completed=time.monotonic() - self._begin)

    def report(self, text: str) -> None:
        """Show what is measured now."""
        self._bar.update(self._task, description=text, completed=time.monotonic() - self._begin)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._console.print(f"stretto: {text}", markup=False, highlight=False, soft_wrap=True)


def print_summary(tuning: Tuning, rate: float | None) -> None:
    """Print the choices of each kind of call; `rate`: of a node's link, if the user gave one."""
    if not tuning.has_choices():
        return
    tables = {
        kind.name: _choice_table(kind, found.sorted(), _bound(tuning, kind, rate))
        for kind in tuning.settings.kinds
        if (found := tuning.findings.get(kind.name)) and found.choices
    }
    console = console_for(*tables.values())
    for call, table in tables.items():
        console.print(table)
        choices = [one for one in tuning.findings[call].sorted() if one.size in tuning.settings.sizes]
        mean = geometric_mean_gain(choices, _MEAN_FROM, _MEAN_TO)
        if mean is not None:
            span = f"{format_bytes(_MEAN_FROM)} - {format_bytes(_MEAN_TO)}"
            console.print(f"{call}: geometric mean of the gains, {span}: {mean:.2f}")
    print_lines(console, _notes(tuning))


def _bound(tuning: Tuning, kind: CallKind, rate: float | None) -> LinkBound | None:
    collective, ppn = COLLECTIVES[kind.collective], tuning.ready.ppn
    if len(ppn) < 2:
        return None
    if rate is not None:
        return LinkBound(rate, collective, ppn)
    return LinkBound.for_lab(tuning.target.rate, collective, ppn) if tuning.target.rate is not None else None


def _choice_table(kind: CallKind, choices: list[Choice], bound: LinkBound | None) -> Table:
    table = Table(title=kind.name, title_justify="left", box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in ("size", NATIVE_LABEL, "choice", "time", "gain (95 %)", *(["of bound"] if bound else [])):
        table.add_column(column, justify="left" if column == "choice" else "right")
    for choice in choices:
        limit = bound.bandwidth(choice.size) if bound else None
        share = f"{100 * choice.size / choice.seconds.median / limit:.0f} %" if limit else ""
        is_native = choice.spec == NATIVE
        gain = f"{choice.gain.median:.2f} ({choice.gain.low:.2f}-{choice.gain.high:.2f})"
        table.add_row(
            format_bytes(choice.size),
            _time(choice.native.median),
            choice.spec,
            "" if is_native else _time(choice.seconds.median),
            "" if is_native else gain,
            *([share] if bound else []),
        )
    return table


def _time(seconds: float) -> str:
    factor, unit = seconds_unit(seconds)
    return f"{three_digits(seconds / factor)} {unit}"


def _notes(tuning: Tuning) -> Iterator[str]:
    ready = tuning.ready
    nodes = "one node" if ready.nodes == 1 else f"{ready.nodes} nodes"
    where = f"{ready.library}, {ready.ranks} ranks on {nodes}"
    yield f"{where}, {tuning.settings.element}, in {format_seconds(round(tuning.elapsed()))}"
    yield rule_text()
    yield from tuning.remarks
    yield f"written to {tuning.path}"
