# SPDX-License-Identifier: Apache-2.0
"""Starts programs whose processes all end with the block, or when our process is killed.

All commands start their launchers here. `job_guard.py` runs the launcher, and ends the job.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from stretto.launch import job_guard
from stretto.support.errors import StrettoError
from stretto.support.interruption import signals_held

Process = subprocess.Popen[str]

# The time that a launcher has to end its ranks after a signal.
GRACE_SECONDS = 5.0
# The most time that the guard then takes to end processes and remove files.
_GUARD_SECONDS = 30.0


@contextlib.contextmanager
def start(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    stdin: int | None = subprocess.DEVNULL,
    stdout: int | None = subprocess.PIPE,
    stderr: int | None = None,
    cwd: Path | None = None,
    sweeps: bool = True,
    folders: Sequence[Path] = (),
    grace_seconds: float | None = None,
) -> Iterator[Process]:
    """Run a launcher, with these variables in addition to ours.

    The end of the block ends the job: the launcher gets a signal, and is killed after the grace. terminate()
    sends that signal at once. The status is the launcher's, or 128 + N if signal N ended it. With `sweeps`,
    processes that still run after the launcher has ended by itself are ended, too. `folders` are removed if
    we are killed.
    """
    grace = GRACE_SECONDS if grace_seconds is None else grace_seconds
    whole = os.environ | dict(environment or {})
    if shutil.which(command[0], path=whole.get("PATH")) is None:
        there = "No such file or directory" if not Path(command[0]).exists() else "Permission denied"
        raise StrettoError(f"{command[0]} could not be started: {there}")
    reader, writer = os.pipe()
    try:
        control = os.fdopen(writer, "wb")
        guard = [sys.executable, "-I", "-S", job_guard.__file__, str(reader), str(grace)]
        guard += ["sweep" if sweeps else "leave", *map(str, folders), "--", *command]
        process = subprocess.Popen(
            guard,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=whole,
            pass_fds=(reader,),
            encoding="utf-8",
            errors="replace",
        )
    finally:
        os.close(reader)
    try:
        yield process
    finally:
        with signals_held():
            control.close()
            _wait_for(process, grace)


def end_with_parent() -> None:
    """Make the kernel kill this child when the thread that started it is gone."""
    prctl = job_guard.find_prctl()
    prctl(job_guard.SET_PDEATHSIG, signal.SIGKILL)


def _wait_for(process: Process, grace_seconds: float) -> None:
    try:
        process.wait(grace_seconds + _GUARD_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
