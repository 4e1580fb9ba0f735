# SPDX-License-Identifier: Apache-2.0
"""Runs a program with tracing and Horovod's timeline switched on, and reads the records."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.launch import jobs
from stretto.launch.run import build_command, check_root
from stretto.support.errors import StrettoError
from stretto.support.interruption import INTERRUPTIONS, exit_status_of
from stretto.trace.files import TraceFolder, read_folder
from stretto.trace.horovod_timeline import Steps, read_timeline, steps_of

_GRACE_SECONDS = 10.0
"""The time that an interrupted program may take to end."""


@dataclass(frozen=True, slots=True)
class ProfiledRun:
    """A program that was run, and its records."""

    status: int
    """The program's exit status."""
    folder: TraceFolder
    training: Steps | None
    """The training steps in Horovod's timeline; None without a timeline."""


class NothingRecordedError(StrettoError):
    """The program failed before any rank wrote its trace. The command ends with the program's status."""

    def __init__(self, status: int) -> None:
        super().__init__("no rank reached MPI_Finalize, so nothing was recorded")
        self.status = status


def run_profiled(
    program: Sequence[str], specs: Sequence[str], mpi_name: str | None, stdout: int | None = None
) -> ProfiledRun:
    """Run the program. Raises StrettoError if no rank left a trace.

    `stdout`: the place of the program's output, as for subprocess.
    """
    with tempfile.TemporaryDirectory(prefix="stretto-profile-") as name:
        return _run(program, specs, mpi_name, stdout, Path(name))


def _run(
    program: Sequence[str], specs: Sequence[str], mpi_name: str | None, stdout: int | None, folder: Path
) -> ProfiledRun:
    traces, timeline = folder / "traces", folder / "timeline.json"
    traces.mkdir()
    line = build_command(
        program,
        os.environ | {"STRETTO_TRACE": str(traces)},
        specs=specs,
        others={"HOROVOD_TIMELINE": str(timeline), "HOROVOD_TIMELINE_MARK_CYCLES": "1"},
        mpi_name=mpi_name,
    )
    check_root(program, os.environ)
    try:
        # Stretto must not end processes that the program leaves running on purpose.
        with jobs.start(
            line, stdin=None, stdout=stdout, sweeps=False, grace_seconds=_GRACE_SECONDS
        ) as process:
            status = process.wait()
    except INTERRUPTIONS as ended:
        status = exit_status_of(ended)
    if not any(traces.iterdir()):
        if status:
            raise NothingRecordedError(status)
        raise StrettoError(
            f"{program[0]} ended, but no rank left a trace here: either it does not use MPI, or its nodes do "
            f"not share {folder.parent}; set TMPDIR to a folder that they share"
        )
    steps = steps_of(read_timeline(timeline)) if timeline.exists() else None
    return ProfiledRun(status, read_folder(traces), steps)
