# SPDX-License-Identifier: Apache-2.0
"""One run of `stretto calibrate`: takes the points, fits them, and makes the machine file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from stretto.bench.targets import Target, observe
from stretto.calibrate.fit import Fit, fit, to_machine
from stretto.calibrate.points import Measured, read_events
from stretto.calibrate.remarks import find_remarks
from stretto.model.machine_file import MachineFile, read_machine_file
from stretto.model.walker import machine_text
from stretto.support.errors import StrettoError
from stretto.support.interruption import INTERRUPTIONS, signal_of

# Time that the launcher and the MPI library need before and after the measurement.
_START_SECONDS = 2.0
_START_SHARE = 0.05
# Every case gets a few samples, even after the time is over. A job that takes longer than this hangs.
_MOST_TIMES = 2.0
_MOST_MORE_SECONDS = 60.0

Progress = Callable[[float, float], None]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The machine that a calibration found, with its points, fits and remarks."""

    machine: MachineFile
    measured: Measured
    found: Fit
    remarks: list[str]


def read_machine(name: str) -> MachineFile:
    """The machine that --simulated names: a built-in one, or a file."""
    text = machine_text(name, "--simulated")
    try:
        return read_machine_file(text)
    except StrettoError as error:
        raise StrettoError(f"--simulated {name}: {error}") from None


def measure(
    target: Target, seconds: float, display: AbstractContextManager[Progress]
) -> tuple[Measured, BaseException | None]:
    """The points, and the signal that ended the measurement after every case had been measured, if any.

    An earlier signal is raised again, since nothing can be written then.
    """
    for_messages = seconds - _START_SECONDS - _START_SHARE * seconds
    arguments = ["--calibrate", f"{for_messages:.3f}"]
    measured = Measured()
    try:
        with display as progress:
            _, status = observe(
                target,
                arguments,
                lambda lines: read_events(lines, progress, measured),
                _MOST_TIMES * seconds + _MOST_MORE_SECONDS,
            )
    except INTERRUPTIONS as ended:
        if not measured.has_all_cases:
            print(
                f"stretto: {signal_of(ended).name} ended the calibration before every case was measured "
                "once: nothing was written",
                file=sys.stderr,
            )
            raise
        return measured, ended
    if status not in (0, None):
        raise StrettoError(
            f"the launcher ended with status {status} after all was measured; nothing was written"
        )
    return measured, None


def fit_machine(
    measured: Measured,
    where: dict[str, Any],
    name: str,
    description: str,
    seed: int,
    interruption: BaseException | None = None,
) -> Calibrated:
    """Fit the points. `where` goes into the file's fingerprint; `description` is made up if it is empty."""
    found = fit(measured, seed)
    remarks = find_remarks(measured, found)
    if interruption:
        remarks.append(f"{signal_of(interruption).name} ended it before its last pass")
    notes = _notes(measured, where, found, remarks)
    machine = to_machine(found, name, description or _describe(measured), notes)
    return Calibrated(machine, measured, found, remarks)


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
