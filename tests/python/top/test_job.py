# SPDX-License-Identifier: Apache-2.0
"""`stretto top` beside jobs that run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stretto.support.paths import library
from stretto.top.reader import Reader, find_files

if TYPE_CHECKING:
    from tests.python.conftest import Runner

RANKS = 3
SECONDS = 100


@contextmanager
def job(mpi: Runner, source: str, *arguments: str, **values: str) -> Iterator[subprocess.Popen[str]]:
    """A job that ends with the block."""
    settings = {"LD_PRELOAD": str(library()), **values}
    argv = [f"mpirun.{mpi.abi}", *mpi.variables(settings), "-n", str(RANKS), str(mpi.compiled(source))]
    if mpi.abi == "openmpi":
        argv[1:1] = ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    with subprocess.Popen([*argv, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill() if sys.exc_info()[0] is not None else process.wait(SECONDS)


def top(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "stretto", "top", *arguments]
    return subprocess.run(argv, capture_output=True, text=True)


def document_when(process: subprocess.Popen[str], is_right: Callable[[Any], bool]) -> Any:
    """The only job of the document, once it is right."""
    until = time.monotonic() + SECONDS
    while True:
        ran = top("--once", "--json", "--interval", "300ms", "--pid", str(process.pid))
        if ran.returncode == 0:
            (found,) = json.loads(ran.stdout)["jobs"]
            if is_right(found):
                return found
        assert process.poll() is None, ran
        assert time.monotonic() < until, ran


def wait_for_file(file: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + SECONDS
    while not file.exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)


def is_long_awaited(job: Any) -> bool:
    """The others have been in a call for more than a second, and rank 1 has been in none."""
    first, second, third = job["here"]
    waits = all(one["now"] is not None and one["now"]["seconds"] > 1 for one in (first, third))
    return job["awaited"] == 1 and second["inside"] == 0 and waits


def test_for_whom_the_others_wait(mpi: Runner, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with job(mpi, "late.c", str(go)) as process:
        found = document_when(process, is_long_awaited)
        table = top("--interval", "300ms", "--pid", str(process.pid)).stdout
        go.touch()
    assert (found["ranks"], found["nodes"], found["program"].split()[1:]) == (RANKS, 1, [str(go)])
    waiting, late, _ = found["here"]
    assert (waiting["now"]["collective"], waiting["now"]["bytes"]) == ("allreduce", 4000)
    assert waiting["inside"] > 0.9
    assert waiting["now"]["seconds"] > 0.2
    assert late["now"] is None
    assert "rank 1 has not come to a call; the others are in allreduce of 4000 B for " in table
    assert "allreduce of 4000 B" in table
    assert process.returncode == 0


def test_calls_are_counted_and_those_of_children_are_not(mpi: Runner, tmp_path: Path) -> None:
    made, go = tmp_path / "made", tmp_path / "go"
    with job(mpi, "live.c", str(made), str(go)) as process:
        wait_for_file(made, process)
        found = document_when(process, lambda one: len(one["here"]) == RANKS)
        go.touch()
        assert process.stdout is not None
        assert "right" in process.stdout.read().splitlines()
    for rank in found["here"]:
        counts = {one["collective"]: (one["calls"], one["bytes"]) for one in rank["collectives"]}
        assert counts == {"allreduce": (7, 56), "bcast": (1, 8), "barrier": (1, 0)}


def test_a_job_without_stretto_has_no_page(mpi: Runner, tmp_path: Path) -> None:
    made, go = tmp_path / "made", tmp_path / "go"
    with job(mpi, "live.c", str(made), str(go), STRETTO_DISABLE="1") as process:
        wait_for_file(made, process)
        ran = top("--once", "--pid", str(process.pid))
        assert Reader(process.pid).sample(1) == {}
        assert not [pid for pid, _ in find_files() if pid == process.pid]
        go.touch()
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"stretto: --pid {process.pid}: ")
    assert ran.stderr.count("\n") == 1
