# SPDX-License-Identifier: Apache-2.0
"""Prints advice: what to take at each size, and how the sample was checked."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.table import Table

from stretto.advise.check import APART, OURS, Check, Checked
from stretto.advise.search import Advice, OfLibrary
from stretto.simulate.jobs import LABELS
from stretto.spec.native import NATIVE
from stretto.support.console import console_for, print_lines
from stretto.support.units import format_bandwidth, format_bytes, format_place, format_seconds, three_digits


def print_advice(title: str, advice: Sequence[Advice], remarks: Sequence[str]) -> None:
    """Print the fastest spec for each size, its gain over each library, and notes."""
    table = Table(title=title, title_justify="left")
    for column in ("size", "take", "time", "MB/s", "of bound"):
        table.add_column(column, justify="left" if column == "take" else "right")
    for label in LABELS.values():
        table.add_column(label, justify="right")
    for one in advice:
        gains = [_gain_text(one, library) for library in one.libraries]
        table.add_row(
            format_bytes(one.bytes),
            one.spec,
            format_seconds(one.seconds),
            format_bandwidth(one.bytes / one.seconds),
            f"{100 * one.bound / one.seconds:.0f} %" if one.bound else "",
            *gains,
        )
    console = console_for(table)
    console.print(table)
    lines = [
        "numbers: gain over the MPI default of that library; native: its default is as fast or faster",
        "~: an estimate, as Stretto has no algorithm that does exactly what the library does",
        "bound: least time that the nodes' links and one latency allow; MB/s: 10⁶ message bytes per second",
        *(f"{label} uses {_takes(advice, name)}" for name, label in LABELS.items()),
        *_by_simulation(advice),
        *remarks,
    ]
    print_lines(console, lines)


def _by_simulation(advice: Sequence[Advice]) -> list[str]:
    sizes = ", ".join(format_bytes(one.bytes) for one in advice if one.by_simulation)
    why = f"there the walker differs from it by {100 * APART:.0f} % or more"
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
        return f"{item.choice.algorithm} (Stretto lacks it: the best textbook algorithm stands for it)"
    return item.choice.spec if item.choice.exact else f"~{item.choice.spec}"


def print_check(check: Check, nodes: int) -> None:
    """Print a row for each call; rows are yellow where the simulation decided, as the walker differs."""
    where = format_place(check.nodes * check.ppn, check.nodes)
    fewer = f", not {nodes}, which would take too long" if check.nodes != nodes else ""
    table = Table(title=f"checked by simulation (SimGrid's SMPI), {where}{fewer}", title_justify="left")
    for column in ("size", "who", "modelled as", "walker", "SMPI", "walker is", "gain", "by SMPI"):
        table.add_column(column, justify="left" if column in ("who", "modelled as") else "right")
    for row, after in zip(check.rows, [*check.rows[1:], None], strict=True):
        table.add_row(
            format_bytes(row.bytes),
            LABELS.get(row.who, row.who),
            row.spec or "the best textbook algorithm",
            format_seconds(row.walker),
            format_seconds(row.smpi) if row.smpi is not None else "failed",
            f"{100 * row.difference:+.1f} %" if row.difference is not None else "",
            *_gains(row, check),
            style="yellow" if row.is_apart else "",
            end_section=after is None or after.bytes != row.bytes,
        )
    console = console_for(table)
    console.print(table)
    failed = [row for row in check.rows if row.why]
    print_lines(
        console,
        (f"{LABELS.get(row.who, row.who)} at {format_bytes(row.bytes)}: {row.why}" for row in failed),
    )


def _gains(row: Checked, check: Check) -> tuple[str, str]:
    """Our gain over the library of a row, by the walker and by SMPI."""
    ours = next((one for one in reversed(check.of(row.bytes)) if one.who == OURS), None)
    if ours is None or row.who == OURS:
        return "", ""
    by_smpi = row.smpi / ours.smpi if row.smpi is not None and ours.smpi is not None else None
    return _gain_or_native(row.walker / ours.walker), "" if by_smpi is None else _gain_or_native(by_smpi)


def _gain_or_native(gain: float) -> str:
    return f"{gain:.2f}" if gain > 1 else NATIVE
