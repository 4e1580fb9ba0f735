# SPDX-License-Identifier: Apache-2.0
"""From what a calibration measured to the machine file, the figure and the tables."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stretto.calibration_fit import Fit, fit, to_machine
from stretto.calibration_points import Measured
from stretto.calibration_remarks import find_remarks
from stretto.calibration_simulation import Shape, simulate
from stretto.calibration_table import figure_table, protocol_table
from stretto.console import console_for
from stretto.files import write_atomically
from stretto.machine_file import MachineFile, file_text


def measure_simulated(machine: MachineFile, nodes: int, ppn: int, noise: float, seed: int) -> Measured:
    """Points as if that machine had been measured."""
    return simulate(machine, Shape(nodes=nodes, ppn=ppn, noise=noise, seed=seed))


def conclude(
    measured: Measured,
    where: dict[str, Any],
    name: str,
    description: str,
    seed: int,
    output: Path,
    png_file: Path | None,
) -> None:
    """Fit, write the machine and the figure, and print what was found; `where` is for the fingerprint."""
    found = fit(measured, seed)
    remarks = find_remarks(measured, found)
    notes = _notes(measured, where, found, remarks)
    machine = to_machine(found, name, description or _describe(measured), notes)
    write_atomically(output, file_text(machine))
    if png_file:
        from stretto import calibration_plot  # noqa: PLC0415  matplotlib is slow to load

        calibration_plot.plot_fit(measured, found, f"{machine.name}: {machine.description}", png_file)
    _report(machine, found, remarks, output)


def _describe(measured: Measured) -> str:
    ppn = sorted(set(measured.ppn))
    each = f"{ppn[0]}" if len(ppn) == 1 else f"{ppn[0]} to {ppn[-1]}"
    nodes = f"{measured.nodes} nodes of {each} ranks" if measured.nodes > 1 else f"one node, {each} ranks"
    return f"{nodes}, {measured.library}"


def _notes(measured: Measured, where: dict[str, Any], found: Fit, remarks: list[str]) -> dict[str, Any]:
    notes: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprint": {
            "mpi": measured.library,
            "nodes": measured.nodes,
            "ppn": measured.ppn,
            "stretto": measured.stretto,
            **where,
        },
        "remarks": remarks,
    }
    if found.engine:
        engine = found.engine
        notes["engine"] = {
            "call": engine.call.value,
            "library_message": engine.library_message.value if engine.library_message else None,
            "residual": round(engine.residual, 3),
        }
    notes["points"] = [one.to_json() for one in measured.points]
    return notes


def _report(machine: MachineFile, found: Fit, remarks: list[str], output: Path) -> None:
    tables = protocol_table(found), figure_table(found)
    console = console_for(*tables)
    console.print(f"{machine.name}: {machine.description}", style="bold", markup=False, highlight=False)
    for table in tables:
        console.print()
        console.print(table)
    console.print()
    for remark in remarks:
        console.print(f"! {remark}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    console.print(f"written to {output}", style="dim", markup=False, highlight=False, soft_wrap=True)
