# SPDX-License-Identifier: Apache-2.0
"""What `stretto advise` prints and writes: tables, JSON, a tuning table, and a plot."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

from rich.table import Table

from stretto._core import parse_library_name
from stretto.advise.check import APART, OURS, Check, Checked
from stretto.advise.search import Advice, OfLibrary
from stretto.simulate.jobs import LABELS
from stretto.spec.native import NATIVE
from stretto.support.console import console_for
from stretto.support.errors import StrettoError
from stretto.support.units import (
    format_bandwidth,
    format_bytes,
    format_nodes,
    format_seconds,
    size_text,
    three_digits,
)
from stretto.tune.table import Json, Shape, table_text, within

# What the walker promises must be more than it is wrong by, as in stretto tune.
_LEAST_GAIN = 1.1


def print_advice(title: str, advice: Sequence[Advice], remarks: Sequence[str]) -> None:
    """The choice table, and what each library takes."""
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
        "times faster than each library by itself; native: it is as fast or faster, so leave it to it",
        "~: no algorithm of ours does quite what the library takes",
        "bound: what the nodes' links and one latency take at least; MB/s: 10⁶ bytes of message by time",
        *(f"{label} takes {_takes(advice, name)}" for name, label in LABELS.items()),
        *_by_simulation(advice),
        *remarks,
    ]
    for line in lines:
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _by_simulation(advice: Sequence[Advice]) -> list[str]:
    sizes = ", ".join(format_bytes(one.bytes) for one in advice if one.by_simulation)
    apart = f"the walker is {100 * APART:.0f} % and more apart from it there"
    return [f"by simulation, the best of the walker's ten: {sizes}; {apart}"] if sizes else []


def _gain_text(one: Advice, library: OfLibrary) -> str:
    gain = three_digits(one.gain(library)) if one.gain(library) > 1.0 else NATIVE
    return gain if library.choice.exact else f"~{gain}"


def _takes(advice: Sequence[Advice], library: str) -> str:
    """`recursive_doubling, from 8 KiB rabenseifner`"""
    named = [(one.bytes, _name(item)) for one in advice for item in one.libraries if item.library == library]
    runs = [(name, next(run)[0]) for name, run in itertools.groupby(named, key=lambda one: one[1])]
    return ", ".join(
        f"from {format_bytes(size)} {name}" if at else name for at, (name, size) in enumerate(runs)
    )


def _name(item: OfLibrary) -> str:
    if item.choice.spec is None:
        return f"{item.choice.algorithm} (not ours: counted as the best textbook algorithm)"
    return item.choice.spec if item.choice.exact else f"~{item.choice.spec}"


def print_check(check: Check, nodes: int) -> None:
    """A line for each call; yellow where both are apart, so that the simulation decided."""
    where = f"{check.nodes * check.ppn} ranks on {format_nodes(check.nodes)}"
    fewer = f", not {nodes}: more are too many to simulate here" if check.nodes != nodes else ""
    table = Table(title=f"checked by simulation (SimGrid's SMPI), {where}{fewer}", title_justify="left")
    for column in ("size", "who", "walked as", "walker", "SMPI", "walker is", "gain", "by SMPI"):
        table.add_column(column, justify="left" if column in ("who", "walked as") else "right")
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
    for row in check.rows:
        if row.why:
            console.print(
                f"{LABELS.get(row.who, row.who)} at {format_bytes(row.bytes)}: {row.why}",
                style="dim",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )


def _gains(row: Checked, check: Check) -> tuple[str, str]:
    """Times faster than the library, by either."""
    ours = next((one for one in reversed(check.of(row.bytes)) if one.who == OURS), None)
    if ours is None or row.who == OURS:
        return "", ""
    by_smpi = row.smpi / ours.smpi if row.smpi is not None and ours.smpi is not None else None
    return _gain_or_native(row.walker / ours.walker), "" if by_smpi is None else _gain_or_native(by_smpi)


def _gain_or_native(gain: float) -> str:
    return f"{gain:.2f}" if gain > 1 else NATIVE


def advice_json(
    collective: str, nodes: int, ppn: int, machine: str, advice: Sequence[Advice], check: Check | None
) -> str:
    """All figures."""
    rows = [
        {
            "bytes": one.bytes,
            "spec": one.spec,
            "seconds": one.seconds,
            "bound_seconds": one.bound,
            "by": "simulation" if one.by_simulation else "walker",
            "libraries": {
                item.library: {
                    "algorithm": item.choice.algorithm,
                    "spec": item.choice.spec,
                    "exact": item.choice.exact,
                    "seconds": item.seconds,
                    "gain": one.gain(item),
                    "take": one.spec_for(item),
                }
                for item in one.libraries
            },
        }
        for one in advice
    ]
    content: Json = {"collective": collective, "nodes": nodes, "ppn": ppn, "machine": machine, "advice": rows}
    if check is not None:
        content["check"] = {
            "nodes": check.nodes,
            "ppn": check.ppn,
            "rows": [
                {
                    "bytes": row.bytes,
                    "who": row.who,
                    "spec": row.spec,
                    "walker_seconds": row.walker,
                    "smpi_seconds": row.smpi,
                }
                for row in check.rows
            ],
        }
    return json.dumps(content, indent=1) + "\n"


def family_of(mpi: str) -> tuple[str, str]:
    """Family and name of a library that a table can be for: openmpi, Open MPI 4.1.4."""
    known = parse_library_name(mpi)
    if known is None or known[0] not in LABELS:
        raise StrettoError(
            f"--mpi {mpi}: expected a library and its version, as Open MPI 4.1.4 or MPICH 4.0.2"
        )
    return known


def tuning_table(
    collective: str, nodes: int, ppn: int, mpi: str, network: str, advice: Sequence[Advice]
) -> str:
    """A table for STRETTO_TABLE (docs/formats.md), marked as modelled."""
    family, name = family_of(mpi)
    specs = [(one.bytes, _worth_it(one, family)) for one in advice]
    rows: list[Json] = [
        {"from": size_text(next(run)[0]), "spec": spec}
        for spec, run in itertools.groupby(specs, key=lambda one: one[1])
    ]
    shape = Shape(nodes, ppn, ppn).to_json() | {
        "modelled": True,
        collective: within(rows, advice[0].bytes, advice[-1].bytes),
    }
    table: Json = {"format": "stretto-table", "version": 1, "mpi": name, "network": network}
    how = "by the schedule walker, and by simulation where that is apart from it; nothing measured"
    return table_text(table | {"shapes": [shape], "notes": {"advise": how}})


def _worth_it(one: Advice, family: str) -> str:
    library = next(item for item in one.libraries if item.library == family)
    return one.spec_for(library) if one.gain(library) > _LEAST_GAIN else NATIVE
