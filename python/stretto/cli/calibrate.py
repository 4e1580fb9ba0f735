# SPDX-License-Identifier: Apache-2.0
"""`stretto calibrate`: measure what the models know of a cluster."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from stretto.bench.targets import Place, Target, find_target, observe
from stretto.calibrate import points as calibration_points
from stretto.calibrate.points import Measured
from stretto.cli.options import LabName, LauncherLine, MpiName, OnLab, Ppn, Provider
from stretto.lab.cluster import DEFAULT_NAME
from stretto.model.machine_file import MachineFile, file_text, read_machine_file
from stretto.model.walker import machine_text
from stretto.results.runs import describe_machine
from stretto.support.console import Bar, console_for
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_atomically
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.units import parse_seconds

if TYPE_CHECKING:
    from stretto.calibrate.fit import Fit

# What the launcher and the library take of the time before and after.
_START_SECONDS = 2.0
_START_SHARE = 0.05
_LEAST_SECONDS = 5.0
# Each case gets a few samples, whatever time is left; what is not through by then hangs.
_MOST_TIMES = 2.0
_MOST_MORE_SECONDS = 60.0
_MOST_USUAL_RANKS = 16
_MOST_LETTERS = 500


def calibrate(
    launch: LauncherLine = None,
    mpi_name: MpiName = None,
    ranks: Annotated[
        int | None,
        typer.Option("--np", min=2, help="Ranks: one a core of this node unless given, on the lab all."),
    ] = None,
    lab: OnLab = False,
    lab_name: LabName = DEFAULT_NAME,
    ppn: Ppn = 1,
    provider: Provider = "ucx",
    simulated: Annotated[
        str | None,
        typer.Option(
            metavar="MACHINE", help="Measure nothing: make points from this machine, a file or a name."
        ),
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of what is simulated.")] = 8,
    noise: Annotated[float, typer.Option(min=0, max=1, help="Of what is simulated: 0.02 for 2 %.")] = 0.02,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise, and of the bootstrap.")] = 1,
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long it may take: 90s, 3m.")] = "3m",
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the machine here.")] = Path(
        "machine.json"
    ),
    png_file: Annotated[
        Path | None, typer.Option("--png", help="Draw the points against their fits here.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call the machine.")] = None,
    description: Annotated[str, typer.Option(help="What it is, in a line.")] = "",
) -> None:
    """Measure latencies, bandwidths, limits and arithmetic of a cluster, and write them as a machine file."""
    # NumPy is slow to load, and other commands need it not.
    from stretto.calibrate.fit import fit, to_machine  # noqa: PLC0415
    from stretto.calibrate.remarks import find_remarks  # noqa: PLC0415
    from stretto.calibrate.simulation import Shape, simulate  # noqa: PLC0415

    if simulated is not None and (launch or lab):
        raise StrettoError("--simulated measures nothing; give it without --lab and -- LAUNCHER")
    place = Place(launch or [], mpi_name, ranks, lab_name if lab else None, provider, ppn)
    seconds = _parse_budget(budget)
    check_files([output], [png_file])
    for option, text in (("--name", name or ""), ("--description", description)):
        if not text.isprintable() or len(text) > _MOST_LETTERS:
            raise StrettoError(f"{option} {text[:40]!r}: expected one line of up to {_MOST_LETTERS} letters")
    where: dict[str, Any]
    interruption: BaseException | None = None
    if simulated is not None:
        source = _read_machine(simulated)
        shape = Shape(nodes=nodes, ppn=ppn, noise=noise, seed=seed)
        measured, where = simulate(source, shape), {"simulated": source.name}
        usual = f"{source.name}, simulated"
    else:
        target = find_target(place, usual_ranks=_usual_ranks())
        where = {"launcher": f"lab {lab_name}" if lab else " ".join(launch or ["one node"])}
        measured, interruption = _measure(target, seconds)
        where |= {"machine": describe_machine()}
        usual = f"lab of {measured.nodes} nodes" if lab else platform.node()
    found = fit(measured, seed)
    remarks = find_remarks(measured, found)
    if interruption:
        remarks.append(f"{signal_of(interruption).name} ended it before its last pass")
    machine = to_machine(
        found, name or usual, description or _describe(measured), _notes(measured, where, found, remarks)
    )
    write_atomically(output, file_text(machine))
    _report(machine, found, remarks, output)
    if png_file:
        from stretto.calibrate import plot as calibration_plot  # noqa: PLC0415  matplotlib is slow to load

        calibration_plot.plot_fit(measured, found, f"{machine.name}: {machine.description}", png_file)
    if interruption:
        raise interruption


def _usual_ranks() -> int:
    return min(max(2, len(os.sched_getaffinity(0))), _MOST_USUAL_RANKS)


def _parse_budget(text: str) -> float:
    seconds = parse_seconds(text)
    if seconds < _LEAST_SECONDS:
        raise StrettoError(
            f"--budget {text} is too short to measure anything; give {_LEAST_SECONDS:.0f}s or more"
        )
    return seconds


def _read_machine(name: str) -> MachineFile:
    text = machine_text(name, "--simulated")
    try:
        return read_machine_file(text)
    except StrettoError as error:
        raise StrettoError(f"--simulated {name}: {error}") from None


def _measure(target: Target, seconds: float) -> tuple[Measured, BaseException | None]:
    """What was measured, and what interrupted it if that left enough."""
    for_messages = seconds - _START_SECONDS - _START_SHARE * seconds
    arguments = ["--calibrate", f"{for_messages:.3f}"]
    measured = Measured()
    try:
        with _progress() as progress:
            _, status = observe(
                target,
                arguments,
                lambda lines: calibration_points.read_events(lines, progress, measured),
                _MOST_TIMES * seconds + _MOST_MORE_SECONDS,
            )
    except INTERRUPTIONS as ended:
        if not measured.has_all_cases:
            name = signal_of(ended).name
            print(f"stretto: {name} came before all was measured once: nothing was written", file=sys.stderr)
            raise
        return measured, ended
    if status not in (0, None):
        raise StrettoError(
            f"the launcher ended with status {status} after all was measured; nothing was written"
        )
    return measured, None


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
    from stretto.calibrate.table import figure_table, protocol_table  # noqa: PLC0415

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


@contextmanager
def _progress() -> Iterator[Callable[[float, float], None]]:
    """A bar on standard error, with the time left, while the block runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns) as bar:
        task = bar.add_task("calibrating", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
