# SPDX-License-Identifier: Apache-2.0
"""Runs the measuring program under SimGrid's SMPI, on all cores. Results are cached.

A run is deterministic, so its result is stored under a hash of all its inputs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stretto.launch import jobs
from stretto.results.runs import parse_event
from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.support.files import cache_folder, write_atomically
from stretto_research.simulate.platforms import Platform

PACKAGE = "libsimgrid-dev"
"""Debian's package of SimGrid with SMPI."""
_SETTINGS = (
    # Only the time that the program charges counts.
    "smpi/simulate-computation:no",
    "smpi/test:0",
    "smpi/iprobe:0",
    "smpi/wtime:0",
    # Ranks are coroutines of one process and share its globals; the program is written for that.
    "smpi/privatization:no",
    "contexts/stack-size:1024",
)
_PRECISIONS = ("1e-7", "1e-9", "1e-6", "1e-8", "1e-5")
"""Precisions of SimGrid's link sharing, tried in this order. Rounding may leave a message without bandwidth
(mostly more often with SimGrid's default of 1e-5), and then SimGrid gives up. If many messages begin at
once (an alltoall), its solver may also read beyond its memory."""
_SEGMENTATION_FAULT = 128 + signal.SIGSEGV
_ENVIRONMENT = {
    # SMPI's algorithms allocate whole messages. With small pages, page faults would take most of the time.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
_SHARE_OF_MEMORY = 0.8
_GIB = 1 << 30
_USUAL_MEMORY = 8 * _GIB
"""Free memory to assume if the system does not report it."""

Event = dict[str, Any]
Progress = Callable[[float, float], None]


@dataclass(frozen=True, slots=True)
class Task:
    """One run of the measuring program in virtual time."""

    platform: Platform
    nodes: int
    ppn: int
    """Ranks fill one node after the other."""
    arguments: tuple[str, ...]
    settings: tuple[str, ...] = ()
    """SimGrid's settings, such as `smpi/coll-selector:ompi`."""
    memory: int = 0
    """An upper bound of the task's memory in bytes."""
    label: str = ""
    """The name of the task in errors."""

    @property
    def hosts(self) -> list[str]:
        """The host of each rank."""
        return [host for host in self.platform.hosts[: self.nodes] for _ in range(self.ppn)]


def find_smpirun() -> str | None:
    """Returns the path of SMPI's launcher; None if SimGrid is not installed."""
    return shutil.which("smpirun")


def check_tasks(tasks: Sequence[Task]) -> None:
    """Raise StrettoError if a task cannot work, before anything starts."""
    if find_smpirun() is None:
        raise StrettoError(
            "smpirun was not found: SimGrid is not installed; install it (Debian, Ubuntu: "
            f"{PACKAGE}) and Stretto again"
        )
    available = _memory()
    for task in tasks:
        hosts = len(task.platform.hosts)
        if task.nodes > hosts:
            raise StrettoError(
                f"{task.nodes} nodes were asked for, but the platform {task.platform.name} has {hosts} hosts"
            )
        if task.memory > available:
            raise StrettoError(
                f"{task.label} would need {task.memory / _GIB:.1f} GiB of memory, but only "
                f"{available / _GIB:.1f} GiB are available; use fewer ranks or shorter messages"
            )


def run_tasks(tasks: Sequence[Task], progress: Progress | None = None) -> list[list[Event]]:
    """Runs tasks. Returns the events of each. Raises StrettoError if a task is impossible or fails."""
    check_tasks(tasks)
    turns = _Turns(_memory())
    running = _Running()
    done = 0
    lock = threading.Lock()

    def run(task: Task) -> list[Event]:
        nonlocal done
        file = cache_folder() / "simulations" / f"{_fingerprint(task)}.json"
        events = _read(file)
        if events is None:
            with turns.of(task.memory):
                events = _launch(task, running)
            _keep(file, events)
        with lock:
            done += 1
            if progress:
                progress(done, len(tasks))
        return events

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [pool.submit(run, task) for task in tasks]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        except BaseException:
            running.end()
            raise
        finally:
            for future in futures:
                future.cancel()
        # If several tasks failed, the first failure is reported. Cancelled tasks come last.
        return [future.result() for future in sorted(futures, key=lambda one: one.cancelled())]


class _Running:
    """The simulations that are running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[jobs.Process] = set()
        self._ended = False

    @contextmanager
    def with_(self, process: jobs.Process) -> Iterator[None]:
        with self._lock:
            self._processes.add(process)
            if self._ended:
                process.terminate()
        try:
            yield
        finally:
            with self._lock:
                self._processes.discard(process)

    def end(self) -> None:
        """End all running simulations, and all that start from now on."""
        with self._lock:
            self._ended = True
            for process in self._processes:
                process.terminate()


class _Turns:
    """Lets as many tasks run at once as memory allows."""

    def __init__(self, available: int) -> None:
        self._available = available
        self._taken = 0
        self._changed = threading.Condition()

    @contextmanager
    def of(self, memory: int) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._taken + memory <= self._available or self._taken == 0)
            self._taken += memory
        try:
            yield
        finally:
            with self._changed:
                self._taken -= memory
                self._changed.notify_all()


def _memory() -> int:
    """Returns the bytes that all simulations together may use."""
    return int(free_memory() * _SHARE_OF_MEMORY)


def free_memory() -> int:
    """Returns the bytes of free memory on this machine."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return _USUAL_MEMORY
    free = [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    return free[0] if free else _USUAL_MEMORY


@cache
def _program() -> tuple[Path, str]:
    """Returns the measuring program, and a hash of it and of SimGrid's library."""
    program = paths.simulate_program()
    library = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
    simgrid = [line.split()[2] for line in library.splitlines() if "libsimgrid" in line and "=> /" in line]
    digest = hashlib.sha256(program.read_bytes())
    for path in simgrid:
        digest.update(str(Path(path).resolve()).encode())
    return program, digest.hexdigest()


def _fingerprint(task: Task) -> str:
    _, program = _program()
    content = [program, task.platform.xml, task.hosts, task.arguments, task.settings, _SETTINGS, _PRECISIONS]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _read(file: Path) -> list[Event] | None:
    try:
        events = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return events if isinstance(events, list) else None


def _keep(file: Path, events: list[Event]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(events))
    except (OSError, StrettoError):
        return  # the result will be computed again


def _launch(task: Task, running: _Running) -> list[Event]:
    said = ""
    for precision in _PRECISIONS:
        ended = _run(task, precision, running)
        events = [event for line in ended.stdout.splitlines() if (event := parse_event(line))]
        for event in events:
            if event["event"] == "error":
                raise StrettoError(f"{task.label}: {event['message']}")
        if events and events[-1]["event"] == "end":
            return events
        lines = [line for line in ended.stderr.splitlines() if "CRITICAL" in line or "rror" in line]
        said = f"exit status {ended.returncode}: {lines[0].strip() if lines else 'no message'}"
        is_rounding = "rounding" in said or "Impossible" in said or ended.returncode == _SEGMENTATION_FAULT
        if not is_rounding:
            break
    raise StrettoError(f"{task.label}: the simulation failed ({said})")


def _run(task: Task, precision: str, running: _Running) -> subprocess.CompletedProcess[str]:
    program, _ = _program()
    with tempfile.TemporaryDirectory(prefix="stretto-") as name:
        folder = Path(name)
        (folder / "platform.xml").write_text(task.platform.xml, encoding="utf-8")
        (folder / "hosts").write_text("\n".join(task.hosts) + "\n", encoding="utf-8")
        settings = (*_SETTINGS, f"maxmin/precision:{precision}", *task.settings)
        command = [
            find_smpirun() or "smpirun",
            "-np", str(len(task.hosts)),
            "-hostfile", "hosts",
            "-platform", "platform.xml",
            *(f"--cfg={one}" for one in settings),
            "--log=root.thresh:critical",
            str(program),
            *task.arguments,
        ]  # fmt: skip
        with (
            jobs.start(
                command, _ENVIRONMENT, stderr=subprocess.PIPE, cwd=folder, folders=[folder]
            ) as process,
            running.with_(process),
        ):
            out, said = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, out, said)
