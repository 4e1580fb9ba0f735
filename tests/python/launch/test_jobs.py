# SPDX-License-Identifier: Apache-2.0
"""No process or file of a job is left, however its command ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto.launch import jobs
from stretto.support.errors import StrettoError
from stretto.support.interruption import Terminated, exit_status_of, signal_of, signals_as_exceptions

if TYPE_CHECKING:
    from tests.python.conftest import MeasuringProgram

START = {
    "event": "start", "collective": "allreduce", "root": 0,
    "library": "Open MPI v4.1.4", "ranks": 8, "nodes": 8, "ppn": [1] * 8,
    "specs": ["native", "ring"], "sizes": [1024], "type": "float", "stretto": "0.1.0",
}  # fmt: skip
NATIVE = {
    "event": "result", "bytes": 1024, "in_place": False, "spec": "native", "chosen": "native", "inner": 1,
    "seconds": [1.0] * 6, "correct": True,
}  # fmt: skip


def wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def pids_in(file: Path, number: int = 1) -> list[int]:
    wait_until(lambda: file.exists() and file.read_text().count("\n") >= number)
    return [int(line) for line in file.read_text().split()]


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_the_status_is_the_launchers(script: str, status: int) -> None:
    with jobs.start(["sh", "-c", script]) as process:
        assert process.wait(60) == status


def test_what_it_says_and_is_told_goes_through() -> None:
    variables = {"COLOUR": "blue"}
    with jobs.start(
        ["sh", "-c", "read line; echo $line $COLOUR"], variables, stdin=subprocess.PIPE
    ) as process:
        assert process.communicate("sky\n", timeout=60)[0] == "sky blue\n"


def test_what_is_no_program_is_a_line() -> None:
    with pytest.raises(StrettoError, match="/no/launcher could not be started: No such file"):
        jobs.start(["/no/launcher"]).__enter__()


STUBBORN = "import os,signal,time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


def test_a_daemon_that_left_its_parents_is_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    daemon = (
        f"{STUBBORN}os.setsid()\nif os.fork() == 0:\n"
        f" open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n time.sleep(100)"
    )
    with jobs.start([*python(daemon)], grace_seconds=0.1) as process:
        (pid,) = pids_in(pids)
        process.wait(60)
        assert not is_alive(pid)


def test_a_program_may_leave_a_daemon_where_it_is_not_ours(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with jobs.start(
        ["sh", "-c", f"sleep 100 & echo $! > {pids}"], stdout=subprocess.DEVNULL, sweeps=False
    ) as process:
        assert process.wait(60) == 0
    (pid,) = pids_in(pids)
    assert is_alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_what_the_block_does_not_wait_for_is_asked_once_and_then_killed(tmp_path: Path) -> None:
    pids, asked = tmp_path / "pids", tmp_path / "asked"
    code = (
        "import os,signal,time\n"
        f"signal.signal(signal.SIGTERM, lambda *_: open({str(asked)!r}, 'a').write('TERM '))\n"
        f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "while True: time.sleep(1)"
    )
    with jobs.start(python(code), grace_seconds=2) as process:
        (pid,) = pids_in(pids)
        process.terminate()
    assert not is_alive(pid)
    assert asked.read_text() == "TERM "


def test_an_interrupt_of_the_terminal_is_not_followed_by_another_signal(tmp_path: Path) -> None:
    # After a second signal, Open MPI's launcher leaves its files behind.
    pids, asked = tmp_path / "pids", tmp_path / "asked"
    code = (
        "import os,signal,time\n"
        "def note(number, _): open(" + repr(str(asked)) + ", 'a').write(f'{number} ')\n"
        "for number in (2, 15): signal.signal(number, note)\n"
        f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "while not os.path.exists(" + repr(str(asked)) + "): time.sleep(0.01)\n"
        "time.sleep(0.5)"
    )
    script = (
        f"from stretto.launch import jobs\nwith jobs.start({python(code)!r}) as process:\n process.wait()"
    )
    with subprocess.Popen(python(script), start_new_session=True, stderr=subprocess.DEVNULL) as process:
        (pid,) = pids_in(pids)
        os.killpg(process.pid, signal.SIGINT)
        process.wait(60)
    assert not is_alive(pid)
    assert asked.read_text() == "2 "


@pytest.mark.parametrize("victim", ["command", "guard"])
def test_the_job_ends_when_what_started_it_is_killed(victim: str, tmp_path: Path) -> None:
    pids, folder = tmp_path / "pids", tmp_path / "folder"
    folder.mkdir()
    launcher = ["sh", "-c", f"echo $$ >> {pids}; echo $PPID >> {pids}; sleep 100"]
    script = (
        "from pathlib import Path\nfrom stretto.launch import jobs\n"
        f"with jobs.start({launcher!r}, folders=[Path({str(folder)!r})]) as process:\n process.wait()"
    )
    with subprocess.Popen(python(script)) as process:
        pid, guard = pids_in(pids, 2)
        os.kill(process.pid if victim == "command" else guard, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid))
        wait_until(lambda: not is_alive(guard))
    assert folder.exists() is (victim == "guard")


def test_shared_memory_and_session_folders_of_what_was_killed_are_removed(tmp_path: Path) -> None:
    name = f"/dev/shm/guard-test-{os.getpid()}"
    ours, before = Path(f"{name}-ours"), Path(f"{name}-before")
    before.write_bytes(b"x" * 4096)
    session = tmp_path / "ompi.host.0" / "pid.1234567"
    up = tmp_path / "up"
    code = (
        f"{STUBBORN}import mmap,pathlib\n"
        f"session = pathlib.Path({str(session)!r}); session.mkdir(parents=True)\n"
        f"kept = []\nfor file in ({str(ours)!r}, {str(before)!r}, session / 'segment'):\n"
        " pathlib.Path(file).write_bytes(b'x' * 4096)\n"
        " opened = open(file, 'r+b')\n kept.append(mmap.mmap(opened.fileno(), 4096))\n"
        f"pathlib.Path({str(up)!r}).touch()\ntime.sleep(100)"
    )
    try:
        with jobs.start(python(code), grace_seconds=0.1):
            wait_until(up.exists)
        assert not ours.exists()
        assert before.exists()
        assert not session.parent.exists()
    finally:
        before.unlink()


def test_signals_become_exceptions_and_what_is_ignored_stays_so() -> None:
    with pytest.raises(Terminated) as ended, signals_as_exceptions():
        os.kill(os.getpid(), signal.SIGHUP)
    assert (signal_of(ended.value), exit_status_of(ended.value)) == (signal.SIGHUP, 129)
    assert (signal_of(KeyboardInterrupt()), exit_status_of(KeyboardInterrupt())) == (signal.SIGINT, 130)
    usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_as_exceptions():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, usual)


# Whole commands


@pytest.fixture
def environment(program: MeasuringProgram, tmp_path: Path) -> dict[str, str]:
    """The environment of commands that find the stand-in for the measuring program."""
    return os.environ | {"STRETTO_LIB_DIR": str(program.folder), "STRETTO_CACHE": str(tmp_path / "cache")}


def let_print(program: MeasuringProgram, pids: Path, *events: dict[str, object]) -> None:
    """Lets the program print events and run on. It writes its process id when the events have been read."""
    # The noise is longer than a pipe's buffer.
    noise = "head -c 300000 /dev/zero | tr '\\0' '\\n'"
    program.let_print(*events, then=f"{noise}\necho $$ >> {pids}\nexec sleep 100")


@contextlib.contextmanager
def command(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-m", "stretto", *arguments]
    with subprocess.Popen(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_what_was_measured_before_a_signal_is_written_and_said(
    number: signal.Signals, program: MeasuringProgram, environment: dict[str, str], tmp_path: Path
) -> None:
    pids, file = tmp_path / "pids", tmp_path / "a.json"
    let_print(program, pids, START, NATIVE)
    own = ("--mpi", "openmpi", "-o", str(file), "--", "env")
    with command(environment, "bench", "allreduce", *own) as process:
        (pid,) = pids_in(pids)
        process.send_signal(number)
        out, said = process.communicate(timeout=60)
        assert process.returncode == 128 + number
    assert not is_alive(pid)
    assert "native" in out
    assert f"{number.name} ended it before its last result" in out
    assert f"written to {file}" in " ".join(out.split())
    assert said.endswith(f"stretto: ended by {number.name}\n")
    report = json.loads(file.read_text())
    assert report["incomplete"] == f"{number.name} ended it before its last result"
    assert len(report["results"]) == 1


def test_what_was_measured_before_a_signal_is_a_document(
    program: MeasuringProgram, environment: dict[str, str], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    let_print(program, pids, START, NATIVE)
    with command(environment, "bench", "allreduce", "--mpi", "openmpi", "--json", "--", "env") as process:
        pids_in(pids)
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGTERM
    report = json.loads(out)
    assert report["incomplete"] == "SIGTERM ended it before its last result"
    assert len(report["results"]) == 1
    assert said.endswith("stretto: ended by SIGTERM\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "allreduce"], "nothing was written"),
        (["calibrate", "--budget", "20s", "-o", "machine.json"], "nothing was written"),
        (["tune", "-o", "table.json"], "the same command continues from here"),
    ],
)
def test_a_signal_before_the_first_result(
    arguments: list[str],
    message: str,
    program: MeasuringProgram,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    pids = tmp_path / "pids"
    let_print(program, pids, START)
    paths = [str(tmp_path / word) if word.endswith(".json") else word for word in arguments]
    with command(environment, *paths, "--mpi", "openmpi", "--", "env") as process:
        (pid,) = pids_in(pids)
        process.terminate()
        _, said = process.communicate(timeout=60)
        assert process.returncode == 143
    assert not is_alive(pid)
    assert message in said
    assert not (tmp_path / "machine.json").exists()


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_of_real_ranks_nothing_is_left(name: str, number: signal.Signals, tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    arguments = ("--mpi", name, "--sizes", "1KiB", "--min-seconds", "60", "--max-seconds", "60")
    with command(environment, "bench", "allreduce", *arguments) as process:
        ranks: list[int] = []

        def has_ranks() -> bool:
            ranks[:] = [pid for pid in descendants(process.pid) if "stretto-bench" in command_of(pid)]
            # After MPI_Init, a segment of either library exists.
            return len(ranks) >= 2 and all("/dev/shm/" in maps_of(pid) for pid in ranks)

        wait_until(has_ranks)
        everything = descendants(process.pid)
        mapped = {word for pid in ranks for word in maps_of(pid).split() if word.startswith("/dev/shm/")}
        process.send_signal(number)
        wait_until(lambda: not any(map(is_alive, everything)))
        process.wait(60)
    assert not [one for one in mapped if Path(one).exists()]
    assert list(tmp_path.iterdir()) == []


def maps_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/maps").read_text()
    return ""


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0]
    return ""


def descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found[1:]
