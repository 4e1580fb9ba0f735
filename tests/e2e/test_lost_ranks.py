# SPDX-License-Identifier: Apache-2.0
"""A rank is lost in the middle of a collective. If it is killed, the job ends as it does without Stretto. If
it is stopped, the watchdog says on every other rank which collective waits for which ranks, and nothing else
changes."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto.launch.run import build_command

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

SOURCE = Path(__file__).parent.parent / "interpose" / "lost.c"
RANKS = 3
SPEC = "ring:segments=4"
ROUNDS = 2 * (RANKS - 1)
BYTES = 12_000_000
# A rank that reduces in the library's own algorithms too.
REDUCES = {"openmpi": 0, "mpich": 1}
# Calls before the one in which the rank is lost.
CALLS_BEFORE = 3
# Long enough for any machine; nothing here is about time.
SECONDS = 60

PROCESS = re.compile(r"rank (\d+) is process (\d+)")
TOLD = re.compile(
    r"stretto: rank (\d+) after [\d.]+ s: (\w+) \(call number (\d+) of a communicator of (\d+) ranks, "
    r"(\d+) bytes, by (\S+)\) has not ended: (.*?)"
    r"(?: \((rank 1 does not answer)\))?"
)
STANDING = re.compile(
    r"segment (\d+) is in round (\d+) and"
    r"(?: waits for rank (\d+(?:, \d+)*))?(?:, and)?(?: sends to rank (\d+(?:, \d+)*))?"
)


@dataclass
class Job:
    """An MPI job under way."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    _queue: queue.Queue[str | None] = field(default_factory=queue.Queue)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as stream:
            for line in stream:
                self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def read_until(self, done: Callable[[], bool]) -> bool:
        """Reads lines until `done` returns true. Returns False if that takes too long, or the lines end."""
        until = time.monotonic() + SECONDS
        while not done():
            try:
                line = self._queue.get(timeout=max(0, until - time.monotonic()))
            except queue.Empty:
                return False
            if line is None:
                return False
            self.lines.append(line)
        return True

    def end(self) -> int:
        """Reads all lines. Returns the exit status."""
        self.read_until(lambda: False)
        return self.process.wait(SECONDS)

    def close(self) -> None:
        """Ends all processes of the job."""
        for process in self.processes.values():
            if state_of(process) == "T":
                os.kill(process, signal.SIGCONT)
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self._reader.join()

    @property
    def processes(self) -> dict[int, int]:
        """Process ids by rank."""
        found = (PROCESS.fullmatch(line) for line in self.lines)
        return {int(match[1]): int(match[2]) for match in found if match}

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def told(self, call_number: int) -> dict[int, re.Match[str]]:
        """Returns the watchdog's lines about a call, by rank."""
        found = (TOLD.fullmatch(line) for line in self.lines)
        return {int(match[1]): match for match in found if match and int(match[3]) == call_number}


def state_of(process: int) -> str:
    """Returns the state as in ps: T for a stopped process. A zombie counts as gone."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"
    return "gone" if state in "ZX" else state


def wait_for_state(process: int, state: str) -> None:
    until = time.monotonic() + SECONDS
    while state_of(process) != state:
        assert time.monotonic() < until, f"process {process} is {state_of(process)}, not {state}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Loser:
    """Starts the program that loses a rank."""

    ranks: LocalRanks
    program: Path

    @contextmanager
    def job(
        self,
        form: str,
        victim: int,
        lost_by: signal.Signals,
        reduction: int,
        settings: Mapping[str, str] | None,
    ) -> Iterator[Job]:
        """Starts a job with these settings, or without Stretto. Afterwards, no process of it is left."""
        program = [str(self.program), form, str(victim), str(int(lost_by)), str(reduction)]
        line = self.ranks.line(RANKS, program)
        environment = {**os.environ, **self.ranks.install.environment()}
        if settings is not None:
            # Otherwise the MPI library would carry out non-blocking calls by the program's own operation.
            line = build_command(line, {**environment, "STRETTO_PROGRESS_THREAD": "1", **settings})
        process = subprocess.Popen(
            line,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        job = Job(process)
        try:
            yield job
        finally:
            job.close()


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def loser(
    request: pytest.FixtureRequest,
    local_ranks: Callable[[str], LocalRanks],
    tmp_path_factory: pytest.TempPathFactory,
) -> Loser:
    program = tmp_path_factory.mktemp(request.param) / "lost"
    subprocess.run([f"mpicc.{request.param}", "-O1", str(SOURCE), "-o", str(program)], check=True)
    return Loser(local_ranks(request.param), program)


@pytest.mark.parametrize("settings", [None, {"STRETTO_ALLREDUCE": SPEC}], ids=["native", SPEC])
@pytest.mark.parametrize("form", ["blocking", "non-blocking"])
def test_a_rank_is_killed(loser: Loser, form: str, settings: Mapping[str, str] | None) -> None:
    with loser.job(form, REDUCES[loser.ranks.install.flavor.abi], signal.SIGKILL, 1, settings) as job:
        assert job.end() != 0
        assert len(job.processes) == RANKS, job.output
        assert "right" not in job.lines
        for process in job.processes.values():
            wait_for_state(process, "gone")


def stopped(
    loser: Loser, form: str, reduction: int, settings: Mapping[str, str], call: int
) -> dict[int, re.Match[str]]:
    """Returns the watchdog's lines about a call during which rank 1 is stopped. Then rank 1 continues."""
    with loser.job(form, 1, signal.SIGSTOP, reduction, {"STRETTO_WATCHDOG": "1s", **settings}) as job:
        job.read_until(lambda: len(job.processes) == RANKS)
        wait_for_state(job.processes[1], "T")
        others = set(range(RANKS)) - {1}
        job.read_until(lambda: job.told(call).keys() >= others)
        told = job.told(call)
        assert told.keys() == others, job.output
        os.kill(job.processes[1], signal.SIGCONT)
        assert job.end() == 0, job.output
        assert "right" in job.lines
    return told


def check_told(told: dict[int, re.Match[str]], spec: str) -> None:
    for line in told.values():
        # A process that is stopped cannot say whether it had made the call.
        assert line[8], line[0]
        assert (line[2], int(line[4]), int(line[5]), line[6]) == ("allreduce", RANKS, BYTES, spec), line[0]


@pytest.mark.parametrize("reduction", [3, 0], ids=["in the call", "before it"])
@pytest.mark.parametrize("form", ["blocking", "non-blocking"])
def test_a_rank_is_stopped(loser: Loser, form: str, reduction: int) -> None:
    told = stopped(loser, form, reduction, {"STRETTO_ALLREDUCE": SPEC}, CALLS_BEFORE)
    check_told(told, SPEC)
    waits_for: dict[int, set[int]] = {}
    for rank, line in told.items():
        standings = [STANDING.fullmatch(part) for part in line[7].split("; ")]
        assert standings, line[0]
        for standing in standings:
            assert standing, line[0]
            assert 0 <= int(standing[1]) < 4, line[0]
            assert 0 <= int(standing[2]) < ROUNDS, line[0]
            if reduction == 0:
                assert int(standing[2]) == 0, line[0]
            named = {int(one) for part in (standing[3], standing[4]) if part for one in part.split(", ")}
            assert named, line[0]
            waits_for.setdefault(rank, set()).update(named)
    # A rank that does not wait for the missing rank waits for a rank that does.
    for ranks in waits_for.values():
        reached = set(ranks)
        for one in ranks:
            reached |= waits_for.get(one, set())
        assert 1 in reached, waits_for


@pytest.mark.parametrize("spec", ["native", "native:segments=3"])
def test_a_rank_is_stopped_before_a_collective_of_the_library(loser: Loser, spec: str) -> None:
    told = stopped(loser, "blocking", 0, {"STRETTO_ALLREDUCE": spec}, CALLS_BEFORE)
    check_told(told, spec)
    assert {line[7] for line in told.values()} == {"it is in the MPI library"}


@pytest.mark.parametrize("form", ["blocking", "non-blocking"])
def test_a_rank_is_stopped_before_its_first_collective(loser: Loser, form: str) -> None:
    told = stopped(loser, form, -1, {"STRETTO_ALLREDUCE": SPEC}, 0)
    check_told(told, SPEC)
    assert all("other ranks have not called it" in line[7] for line in told.values())


@pytest.mark.parametrize("form", ["blocking", "non-blocking"])
def test_a_rank_is_stopped_while_calls_are_compared(loser: Loser, form: str) -> None:
    settings = {"STRETTO_ALLREDUCE": SPEC, "STRETTO_CHECK": "1"}
    check_told(stopped(loser, form, 0, settings, CALLS_BEFORE), SPEC)


# Between nodes and inside one; blocks that other ranks pass on, and those that go straight.
MOVES = ["STRETTO_ALLTOALL=bruck:radix=2", "STRETTO_ALLTOALLV=bruck:radix=2", "STRETTO_ALLTOALLV=pairwise"]
PLACES = [f"ppn={RANKS}", "ppn=1+1+1"]


def settings_of(moves: str, place: str) -> tuple[str, dict[str, str]]:
    """The form of the call, and what Stretto is told."""
    variable, _, spec = moves.partition("=")
    return variable.removeprefix("STRETTO_").lower(), {variable: spec, "STRETTO_TOPOLOGY": place}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("moves", MOVES)
def test_a_rank_is_killed_before_others_exchange_blocks(loser: Loser, moves: str, place: str) -> None:
    form, settings = settings_of(moves, place)
    with loser.job(form, 1, signal.SIGKILL, 0, settings) as job:
        assert job.end() != 0
        assert len(job.processes) == RANKS, job.output
        assert "right" not in job.lines
        for process in job.processes.values():
            wait_for_state(process, "gone")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("moves", MOVES)
def test_a_rank_is_stopped_before_others_exchange_blocks(loser: Loser, moves: str, place: str) -> None:
    form, settings = settings_of(moves, place)
    for line in stopped(loser, form, 0, settings, CALLS_BEFORE).values():
        assert line[8], line[0]
        assert (line[2], int(line[4]), line[6]) == (form, RANKS, moves.partition("=")[2]), line[0]
