# SPDX-License-Identifier: Apache-2.0
"""The output of `stretto tune`: its progress, the choices by size, and the place of the table."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
from rich.text import Text

from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.spec.labels import NATIVE_LABEL
from stretto.spec.native import NATIVE
from stretto.support.console import Bar, print_lines
from stretto.support.json_files import document_text
from stretto.support.tables import Column, ResultTable
from stretto.support.units import (
    format_bytes,
    format_percent,
    format_place,
    format_seconds,
    short_seconds,
)
from stretto.tune.findings import CallKind, Choice
from stretto.tune.session import Tuning
from stretto.tune.table import Json, geometric_mean_gain, rule_text

# The label in place of the MPI default if there is no MPI library.
_RULE_LABEL = "built-in rule"
_MEAN_FROM, _MEAN_TO = 256 << 10, 16 << 20


class _TimeLeft(ProgressColumn):
    """The part of the budget that is left."""

    def render(self, task: Task) -> Text:
        """Returns a text such as `4:12 left`."""
        left = max(0, round((task.total or 0.0) - (task.elapsed or 0.0)))
        return Text(f"{left // 60}:{left % 60:02} left")


class ProgressDisplay:
    """Shows a bar on standard error while its block runs. The full bar is the budget."""

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
        """Show the current measurement."""
        self._bar.update(self._task, description=text, completed=time.monotonic() - self._begin)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._console.print(f"stretto: {text}", markup=False, highlight=False, soft_wrap=True)


def print_summary(tuning: Tuning, rate: float | None) -> None:
    """Print the choices of each kind of call. `rate`: the rate of a node's link, if the user gave one."""
    baseline = NATIVE_LABEL if tuning.target.has_library else _RULE_LABEL
    tables = {
        kind.name: _choice_table(kind, found.sorted(), _bound(tuning, kind, rate), baseline)
        for kind in tuning.settings.kinds
        if (found := tuning.findings.get(kind.name)) and found.choices
    }
    for call, table in tables.items():
        table.print()
        mean = _mean_gain(tuning, call)
        if mean is not None:
            span = f"{format_bytes(_MEAN_FROM)} - {format_bytes(_MEAN_TO)}"
            print_lines([f"{call}: geometric mean of the gains, {span}: {mean:.2f}"], style="")
    print_lines(_notes(tuning))


def tuning_json(tuning: Tuning, rate: float | None) -> str:
    """Returns the document of the choices. The table is a file of its own."""
    ready = tuning.ready
    calls = [
        {
            "call": kind.name,
            "mean_gain": _mean_gain(tuning, kind.name),
            "choices": [_choice_row(one, _bound(tuning, kind, rate)) for one in found.sorted()],
        }
        for kind in tuning.settings.kinds
        if (found := tuning.findings.get(kind.name)) and found.choices
    ]
    content = {
        "table": str(tuning.path),
        "mpi": ready.library,
        "ranks": ready.ranks,
        "nodes": ready.nodes,
        "ppn": ready.ppn,
        "type": tuning.settings.element,
        "seconds": tuning.elapsed(),
        "remarks": tuning.remarks,
        "calls": calls,
    }
    return document_text("stretto-choices", sys.argv, _where(tuning), content)


def _choice_row(choice: Choice, bound: LinkBound | None) -> Json:
    return {
        "bytes": choice.size,
        "spec": choice.spec,
        "native": choice.native.to_json(),
        "seconds": choice.seconds.to_json(),
        "gain": choice.gain.to_json(),
        "bound_share": _bound_share(choice, bound),
        "library": choice.library,
        "library_gain": choice.library_gain.to_json() if choice.library_gain else None,
    }


def _mean_gain(tuning: Tuning, call: str) -> float | None:
    choices = [one for one in tuning.findings[call].sorted() if one.size in tuning.settings.sizes]
    return geometric_mean_gain(choices, _MEAN_FROM, _MEAN_TO)


def _bound_share(choice: Choice, bound: LinkBound | None) -> float | None:
    limit = bound.bandwidth(choice.size) if bound else None
    return choice.size / choice.seconds.median / limit if limit else None


def _bound(tuning: Tuning, kind: CallKind, rate: float | None) -> LinkBound | None:
    collective, ppn = COLLECTIVES[kind.collective], tuning.ready.ppn
    if len(ppn) < 2:
        return None
    if rate is not None:
        return LinkBound(rate, collective, ppn)
    return LinkBound.for_lab(tuning.target.rate, collective, ppn) if tuning.target.rate is not None else None


def _choice_table(
    kind: CallKind, choices: Sequence[Choice], bound: LinkBound | None, baseline: str
) -> ResultTable[Choice]:
    def unless_native(cell: Callable[[Choice], str]) -> Callable[[Choice], str]:
        return lambda one: "" if one.spec == NATIVE else cell(one)

    def share(one: Choice) -> str:
        part = _bound_share(one, bound)
        return format_percent(part) if part else ""

    default = NATIVE if baseline == NATIVE_LABEL else baseline
    return ResultTable(
        [
            Column("size", lambda one: format_bytes(one.size), is_key=True),
            Column(baseline, lambda one: short_seconds(one.native.median)),
            Column("choice", lambda one: default if one.spec == NATIVE else one.spec, left=True, is_key=True),
            Column("time", unless_native(lambda one: short_seconds(one.seconds.median))),
            Column("gain (95 %)", unless_native(lambda one: one.gain.text())),
            Column("of bound", share, detail=1),
        ],
        choices,
        title=kind.name,
    )


def _where(tuning: Tuning) -> str:
    ready = tuning.ready
    return f"{ready.library}, {format_place(ready.ranks, ready.nodes)}"


def _notes(tuning: Tuning) -> Iterator[str]:
    yield f"{_where(tuning)}, {tuning.settings.element}, in {format_seconds(round(tuning.elapsed()))}"
    yield rule_text()
    yield from tuning.remarks
    yield f"written to {tuning.path}"
