# SPDX-License-Identifier: Apache-2.0
"""Finds the ranks of this node that run with Stretto, and reads their counters.

Each rank keeps its counters in a file without a name (memfd_create), to which /proc/PID/fd has a link. The
kernel lets processes of the same user open it. The reader writes into the page until which time it watches.
Only until that time do the ranks read the clock in each call.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pwd
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stretto.support.errors import StrettoError
from stretto.top.page import Page, PageError, parse_page

PROC = Path("/proc")
_LINK = "/memfd:stretto-live"
_PATIENCE = 3 * 10**9
"""The nanoseconds beyond the next look during which ranks still read the clock."""


@dataclass(frozen=True)
class Sample:
    """The contents of a rank's page at one moment."""

    at: int
    """The time of the sample, in nanoseconds of CLOCK_MONOTONIC."""
    page: Page
    is_first: bool
    """Whether no viewer watched before. Then the times of calls until now are missing."""


class Rank:
    """One process whose page is mapped."""

    def __init__(self, pid: int, file: Path) -> None:
        """Map the page of a process. Raises OSError or ValueError if the file cannot be mapped."""
        self.pid = pid
        self.file = file
        self.command = command_of(pid, file.parents[2])
        self.user = user_of(file.parents[1])
        """The user who runs it; empty for the one who runs this process."""
        number = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self._memory = mmap.mmap(number, 0)
        finally:
            os.close(number)

    def sample(self, seconds: float) -> Sample | None:
        """Returns the page now; None if the rank is gone. Raises PageError if the page is unusable.

        `seconds`: the time within which the next sample follows.
        """
        if not is_page(self.file):
            return None
        page = parse_page(self._memory[:])
        if page is None or not is_own(self.pid, page, self.file.parents[2]):
            return None
        now = time.monotonic_ns()
        watched = [one.watched_until for one in page.threads if not one.is_shared]
        self._watch(page, now, now + int(seconds * 1e9) + _PATIENCE)
        page = parse_page(self._stable_content())
        return None if page is None else Sample(now, page, any(until < now for until in watched))

    def _watch(self, page: Page, now: int, until: int) -> None:
        with memoryview(self._memory) as memory, memory.cast("B") as raw, raw.cast("q") as words:
            for place in page.watched_at:
                # Another viewer may also be watching.
                if words[place // 8 + 1] < now:
                    words[place // 8] = now
                words[place // 8 + 1] = max(until, words[place // 8 + 1])

    def _stable_content(self) -> bytes:
        """Returns a copy of the page that is consistent, or any copy if the rank calls all the time."""
        content = self._memory[:]
        for _ in range(3):
            before, content = content, self._memory[:]
            if before == content:
                break
        return content

    def close(self) -> None:
        """Unmap the page."""
        self._memory.close()


def is_page(file: Path) -> bool:
    """Whether the link in /proc leads to a page."""
    try:
        return str(file.readlink()).startswith(_LINK)
    except OSError:
        return False


def is_own(pid: int, page: Page, proc: Path) -> bool:
    """Whether the page is the process's own: children inherit the file of their parent."""
    try:
        status = (proc / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    numbers = [line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")]
    return page.pid == int(numbers[0][-1]) if numbers else page.pid == pid


def command_of(pid: int, proc: Path = PROC) -> str:
    """Returns the command line of a process; empty if it is gone."""
    try:
        words = (proc / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return " ".join(word.decode("utf-8", "replace") for word in words if word)


def user_of(process: Path) -> str:
    """Returns the name of the user of a process, by its folder in /proc; empty for the user of this one."""
    owner = process.stat().st_uid
    if owner == os.getuid():
        return ""
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return f"user {owner}"


def ancestors_of(pid: int, proc: Path = PROC) -> Iterator[int]:
    """Yields the process, its parent, the parent's parent and so on."""
    while pid > 0:
        yield pid
        try:
            stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        # The name, in parentheses, may hold anything.
        pid = int(stat.rpartition(")")[2].split()[1])


def find_files(proc: Path = PROC) -> Iterator[tuple[int, Path]]:
    """Yields each process that this user may see and that has a page open, with the link to the page."""
    for process in proc.iterdir():
        if not process.name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            for file in sorted((process / "fd").iterdir()):
                if is_page(file):
                    yield int(process.name), file


class Reader:
    """Reads the ranks of this node, as they come and go. `pid`: a rank or launcher; reads only its job."""

    def __init__(self, pid: int | None = None, proc: Path = PROC) -> None:
        self._pid = pid
        self._proc = proc
        self._ranks: dict[Path, Rank] = {}
        self._complaints: dict[int, str] = {}

    def sample(self, seconds: float) -> dict[Path, tuple[Rank, Sample]]:
        """Returns all ranks with samples of them. `seconds`: the next sample follows within this time."""
        self._find()
        found: dict[Path, tuple[Rank, Sample]] = {}
        for file, rank in list(self._ranks.items()):
            try:
                sample = rank.sample(seconds)
            except PageError as error:
                self._complaints[rank.pid] = str(error)
                sample = None
            if sample is None:
                rank.close()
                del self._ranks[file]
            else:
                found[file] = rank, sample
        return self._chosen(found)

    def _find(self) -> None:
        for pid, file in find_files(self._proc):
            if file not in self._ranks:
                # The process may be gone by now, or the link may lead to another file.
                with contextlib.suppress(OSError, ValueError):
                    self._ranks[file] = Rank(pid, file)

    def _chosen(self, found: dict[Path, tuple[Rank, Sample]]) -> dict[Path, tuple[Rank, Sample]]:
        if self._pid is None:
            return found
        jobs = {
            sample.page.job
            for rank, sample in found.values()
            if self._pid in ancestors_of(rank.pid, self._proc)
        }
        return {file: one for file, one in found.items() if one[1].page.job in jobs}

    def why_nothing(self) -> StrettoError:
        """Returns the error for a reader that has found no rank."""
        for pid, text in self._complaints.items():
            if self._pid is None or self._pid in ancestors_of(pid, self._proc):
                return StrettoError(f"the counters of process {pid} cannot be read: {text}")
        if self._pid is not None:
            return StrettoError(
                f"--pid {self._pid}: neither this process nor one that it has started is a rank that runs "
                "with Stretto on this node"
            )
        return StrettoError(
            "no process of yours on this node runs with Stretto; `stretto run -- mpirun …` starts a job"
        )
