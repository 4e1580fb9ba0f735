# SPDX-License-Identifier: Apache-2.0
"""Prints advice: what to take at each size, and how the sample was checked."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from stretto.spec.native import NATIVE
from stretto.support.console import print_lines
from stretto.support.tables import Column, ResultTable
from stretto.support.units import (
    format_bandwidth,
    format_bytes,
    format_percent,
    format_place,
    format_seconds,
    three_digits,
)
from stretto_research.advise.check import APART, OURS, Check, Checked
from stretto_research.advise.search import Advice, OfLibrary
from stretto_research.simulate.jobs import LABELS

_TEXTBOOK = "the best textbook algorithm"


def print_advice(title: str, advice: Sequence[Advice], remarks: Sequence[str]) -> None:
    """Print the fastest spec for each size, its gain over each library, and notes."""
    ResultTable(
        [
            Column("size", lambda one: format_bytes(one.bytes), is_key=True),
            Column("take", lambda one: one.spec, left=True, is_key=True),
            Column("time", lambda one: format_seconds(one.seconds)),
            Column("MB/s", lambda one: format_bandwidth(one.bytes / one.seconds), detail=2),
            Column("of bound", _of_bound, detail=1),
            *(_gain_column(at, label) for at, label in enumerate(LABELS.values())),
        ],
        advice,
        title=title,
    ).print()
    lines = [
        "numbers: gain over the MPI default of that library; native: that default is at least as fast",
        "~: an estimate, as Stretto has no algorithm that does exactly what the library does",
        "bound: least time that the nodes' links and one latency allow; MB/s: 10⁶ message bytes per second",
        *(f"{label} uses {_takes(advice, name)}" for name, label in LABELS.items()),
        *_by_simulation(advice),
        *remarks,
    ]
    print_lines(lines)


def _of_bound(one: Advice) -> str:
    return format_percent(one.bound / one.seconds) if one.bound else ""


def _gain_column(at: int, label: str) -> Column[Advice]:
    return Column(label, lambda one: _gain_text(one, one.libraries[at]))


def _by_simulation(advice: Sequence[Advice]) -> list[str]:
    sizes = ", ".join(format_bytes(one.bytes) for one in advice if one.by_simulation)
    why = f"there the walker differs from it by {format_percent(APART)} or more"
    return [f"decided by simulation, among the walker's ten best: {sizes}; {why}"] if sizes else []


def _gain_text(one: Advice, library: OfLibrary) -> str:
    gain = three_digits(one.gain(library)) if one.gain(library) > 1.0 else NATIVE
    return gain if library.choice.exact else f"~{gain}"


def _takes(advice: Sequence[Advice], library: str) -> str:
    """What a library uses, by size: `recursive_doubling, from 8 KiB rabenseifner`."""
    named = [(one.bytes, _name(item)) for one in advice for item in one.libraries if item.library == library]
    runs = [(name, next(run)[0]) for name, run in itertools.groupby(named, key=lambda one: one[1])]
    return ", ".join(
        f"from {format_bytes(size)} {name}" if at else name for at, (name, size) in enumerate(runs)
    )


def _name(item: OfLibrary) -> str:
    if item.choice.spec is None:
        return f"{item.choice.algorithm} (Stretto lacks it: the best textbook algorithm is used)"
    return item.choice.spec if item.choice.exact else f"~{item.choice.spec}"


def print_check(check: Check, nodes: int) -> None:
    """Print a row for each call; a mark shows where the simulation decided, as the walker differs."""
    where = format_place(check.nodes * check.ppn, check.nodes)
    fewer = f", not {nodes}, which would take too long" if check.nodes != nodes else ""
    ResultTable(
        [
            Column("size", lambda row: format_bytes(row.bytes), is_key=True),
            Column("who", lambda row: LABELS.get(row.who, row.who), left=True, is_key=True),
            Column("modelled as", lambda row: row.spec or _TEXTBOOK, left=True, is_key=True),
            Column("walker", lambda row: format_seconds(row.walker)),
            Column("SMPI", lambda row: format_seconds(row.smpi) if row.smpi is not None else "failed"),
            Column("walker is", _difference, detail=1),
            Column("gain", lambda row: _gains(row, check)[0]),
            Column("by SMPI", lambda row: _gains(row, check)[1], detail=2),
        ],
        check.rows,
        title=f"checked by simulation (SimGrid's SMPI), {where}{fewer}",
        section=lambda row: row.bytes,
        style=lambda row: "yellow" if row.is_apart else "",
    ).print()
    failed = [row for row in check.rows if row.why]
    print_lines(
        (f"{LABELS.get(row.who, row.who)} at {format_bytes(row.bytes)}: {row.why}" for row in failed),
    )


def _difference(row: Checked) -> str:
    if row.difference is None:
        return ""
    return f"{format_percent(row.difference, 1, signed=True)} {'!' if row.is_apart else ' '}"


def _gains(row: Checked, check: Check) -> tuple[str, str]:
    """Our gain over the library of a row, by the walker and by SMPI."""
    ours = next((one for one in reversed(check.of(row.bytes)) if one.who == OURS), None)
    if ours is None or row.who == OURS:
        return "", ""
    by_smpi = row.smpi / ours.smpi if row.smpi is not None and ours.smpi is not None else None
    return _gain_or_native(row.walker / ours.walker), "" if by_smpi is None else _gain_or_native(by_smpi)


def _gain_or_native(gain: float) -> str:
    return f"{gain:.2f}" if gain > 1 else NATIVE
