# SPDX-License-Identifier: Apache-2.0
"""The guard after errors: errors of its file, or settings that differ between ranks.

Most jobs make one call of 64 KiB, so they measure the network and decide nothing. That does not depend on
other load of the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.interpose.jobs import used
from tests.python.libraries import on_one_library

if TYPE_CHECKING:
    from tests.python.conftest import Ran, Runner

NOT_READ = "the findings of earlier jobs about this network are not used"
NOT_WRITTEN = "the findings of this job about the network are lost"


def job(
    mpi: Runner,
    file: Path | str,
    part: str = "one",
    nodes: int = 2,
    second: dict[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    wait_in: Path | None = None,
) -> Ran:
    """Runs a part of guarded.cpp on nodes of one rank with its own core: with others, jobs measure again."""
    program = [str(mpi.compiled("guarded.cpp", "-pthread")), part, *([str(wait_in)] if wait_in else [])]
    more = {"STRETTO_TOPOLOGY": f"nodes={nodes},ppn=1", "STRETTO_FABRIC": str(file), **(settings or {})}
    ran = mpi.run(program, ranks=nodes, second=second, more=more, **mpi.told_that_cores_are("idle"))
    assert ran.right, ran.output
    return ran


@pytest.fixture(scope="module")
def content(mpi: Runner, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file that a job of one call has left."""
    file = tmp_path_factory.mktemp("fabric") / "fabric.json"
    assert job(mpi, file).lines == []
    return file.read_text()


def state(file: Path) -> tuple[int, int, bytes]:
    """Returns a value that changes if the file is written or replaced."""
    return file.stat().st_ino, file.stat().st_mtime_ns, file.read_bytes()


def check(file: Path, nodes: int = 2) -> Any:
    """Returns the content of a file, and checks that no temporary file is left beside it."""
    assert {one.name for one in file.parent.iterdir()} <= {file.name, file.name + ".lock"}
    found = json.loads(file.read_text())
    assert found["format"] == "stretto-fabric"
    assert found["measured"]["nodes"] == nodes
    return found


def test_one_large_call_measures_the_network_once(mpi: Runner, tmp_path: Path) -> None:
    file = tmp_path / "cache" / "fabric.json"
    assert job(mpi, file).lines == []
    assert check(file)["decisions"] == []
    before = state(file)
    assert job(mpi, file).lines == []
    assert state(file) == before


@on_one_library
def test_calls_below_a_kilobyte_measure_nothing(mpi: Runner, tmp_path: Path) -> None:
    file = tmp_path / "fabric.json"
    assert job(mpi, file, "small").lines == []
    assert list(tmp_path.iterdir()) == []


def member(path: str, value: Any) -> Callable[[str], str]:
    """Returns a function that changes the value of the member at this path."""

    def change(text: str) -> str:
        whole = json.loads(text)
        *before, last = path.split("/")
        place = whole
        for name in before:
            place = place[int(name)] if isinstance(place, list) else place[name]
        place[last] = value
        return json.dumps(whole)

    return change


ROW = {"from": 0, "latency": 1e-5, "bandwidth": 1e9}
FAULTS: dict[str, Callable[[str], str]] = {
    "half": lambda text: text[: len(text) // 2],
    "empty": lambda _: "",
    "binary": lambda _: "\x01\x02\x7f" * 5000,
    "newer": member("version", 2),
    "foreign": member("fabric/hosts", "elsewhere#"),
    "other_mpi": member("fabric/mpi", "Some MPI 1.0"),
    "type": member("measured", [1, 2, 3]),
    "text": member("measured/machine/levels", "fast"),
    "negative": member("measured/machine/levels/network", [{**ROW, "latency": -1}]),
    "none": member("measured/machine/engine/message", None),
    "nan": member("measured/machine/levels/network", [{**ROW, "bandwidth": float("nan")}]),
    "infinite": member("measured/machine/engine/round", float("inf")),
    "huge_list": member("measured/machine/reduction", [{"from": i, "bandwidth": 1} for i in range(20000)]),
    "deep": lambda _: '{"measured":' * 20000,
}


@on_one_library
@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_file_costs_one_line_and_is_replaced(
    fault: str, mpi: Runner, content: str, tmp_path: Path
) -> None:
    file = tmp_path / "fabric.json"
    file.write_text(FAULTS[fault](content))
    (line,) = job(mpi, file).lines
    assert str(file) in line
    assert line.endswith(NOT_READ)
    assert len(line) < 1000
    check(file)
    assert job(mpi, file).lines == []


@on_one_library
def test_what_is_no_file(mpi: Runner, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    folder = tmp_path / "folder"
    folder.mkdir()
    for place in (pipe, folder):
        first, second = job(mpi, place).lines
        assert first == f"stretto: {place}: is not a file; {NOT_READ}"
        assert second == f"stretto: {place}: is not a file; {NOT_WRITTEN}"
    assert sorted(tmp_path.iterdir()) == [folder, pipe]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two pages."""
    place = tmp_path / "disk"
    place.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=8k", "stretto-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(argv, capture_output=True).returncode != 0:
        pytest.skip("needs to mount a disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def without_measurement(content: str) -> str:
    """Returns the content without the measurement, so that a job has something to find out."""
    whole = json.loads(content)
    del whole["measured"]
    return json.dumps(whole)


@on_one_library
def test_a_full_disk(mpi: Runner, content: str, disk: Path) -> None:
    file = disk / "fabric.json"
    file.write_text(without_measurement(content))
    (disk / "other").write_bytes(b"x" * 4096)
    before = state(file)
    (line,) = job(mpi, file).lines
    assert line == f"stretto: {file}: No space left on device; {NOT_WRITTEN}"
    assert state(file) == before
    assert {one.name for one in disk.iterdir()} <= {"fabric.json", "fabric.json.lock", "other"}


@on_one_library
def test_a_disk_that_is_read_only(mpi: Runner, content: str, disk: Path) -> None:
    file = disk / "fabric.json"
    file.write_text(without_measurement(content))
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    before = state(file)
    (line,) = job(mpi, file).lines
    assert line == f"stretto: {file}: Read-only file system; {NOT_WRITTEN}"
    assert state(file) == before
    # Its folder cannot be made.
    (line,) = job(mpi, disk / "new" / "fabric.json").lines
    assert line.endswith(f"Read-only file system; {NOT_WRITTEN}")
    # A file that can only be read is used.
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    file.write_text(content)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert job(mpi, file).lines == []


def test_jobs_that_end_at_once(mpi: Runner, tmp_path: Path) -> None:
    file = tmp_path / "cache" / "fabric.json"
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    ended = threading.Event()

    def read_on() -> int:
        """Reads the file again and again, and checks that it is always whole."""
        times = 0
        while not ended.is_set():
            if file.exists():
                json.loads(file.read_text())
                times += 1
            ended.wait(0.001)
        return times

    with ThreadPoolExecutor() as pool:
        reader = pool.submit(read_on)
        jobs: list[Future[Ran]] = []
        try:
            for nodes in (2, 3, 2, 3):
                jobs.append(pool.submit(job, mpi, file, "usual", nodes, wait_in=meeting))
                # The jobs start one after the other, since Open MPI's launchers disturb each other.
                while len(list(meeting.iterdir())) < len(jobs) and not jobs[-1].done():
                    time.sleep(0.01)
        finally:
            (meeting / "go").touch()
            lines = [one.result().lines for one in jobs]
            ended.set()
    assert lines == [[], [], [], []]
    reader.result()
    found = json.loads(file.read_text())
    assert {one["nodes"] for one in found["decisions"]} == {2, 3}
    check(file, found["measured"]["nodes"])


@on_one_library
@pytest.mark.parametrize("home", ["other", "/dev/null", "", "not/absolute"])
def test_a_home_that_differs_between_ranks(home: str, mpi: Runner, tmp_path: Path) -> None:
    first, other = tmp_path / "first", tmp_path / "other"
    place = str(other) if home == "other" else home
    first.mkdir()
    settings = {"XDG_CACHE_HOME": "", "HOME": str(first)}
    assert job(mpi, "", second={"HOME": place}, settings=settings).lines == []
    (file,) = (first / ".cache" / "stretto" / "fabrics").glob("*.json")
    check(file)
    assert not other.exists()
    before = state(file)
    assert job(mpi, "", second={"HOME": place}, settings=settings).lines == []
    assert state(file) == before


@on_one_library
@pytest.mark.parametrize("home", ["/dev/null", ""])
def test_a_home_that_is_none(home: str, mpi: Runner) -> None:
    """Accounts that only run services have such homes: no file can be kept there."""
    assert job(mpi, "", settings={"XDG_CACHE_HOME": "", "HOME": home}).lines == []


@on_one_library
def test_the_settings_of_rank_0_count(mpi: Runner, tmp_path: Path) -> None:
    file, other = tmp_path / "fabric.json", tmp_path / "other.json"
    second = {"STRETTO_ONLINE": "0", "STRETTO_FABRIC": str(other)}
    assert job(mpi, file, second=second).lines == []
    check(file)
    file.unlink()
    # The other way round, in many calls: rank 0 has no guard.
    stats = tmp_path / "stats.json"
    second = {"STRETTO_ONLINE": "1", "STRETTO_TABLE": str(tmp_path / "table.json")}
    settings = {"STRETTO_ONLINE": "0", "STRETTO_STATS": str(stats)}
    assert job(mpi, file, "usual", second=second, settings=settings).lines == []
    assert len(used(stats)) == 1
    assert {one.name for one in tmp_path.iterdir()} <= {"fabric.json.lock", "stats.json"}


@on_one_library
def test_a_frozen_job_learns_nothing(mpi: Runner, content: str, tmp_path: Path) -> None:
    stats = {"STRETTO_STATS": str(tmp_path / "stats.json"), "STRETTO_ONLINE": "freeze"}
    file = tmp_path / "cache" / "fabric.json"
    assert job(mpi, file, "usual", settings=stats).lines == []
    assert len(used(tmp_path / "stats.json")) == 1
    assert not file.parent.exists()

    file.parent.mkdir()
    calls = {"nodes": 2, "ppn": 1, "call": "allreduce", "from": "64KiB"}
    # The time is far from that of a call, so that a job that learns would change the decision.
    decision = {**calls, "spec": "rabenseifner", "seconds": 1e-9, "bytes": "64KiB"}
    file.write_text(member("decisions", [decision])(content))
    before = state(file)
    assert job(mpi, file, "usual", settings=stats).lines == []
    assert list(used(tmp_path / "stats.json")) == ["rabenseifner"]
    assert state(file) == before
    assert list(file.parent.iterdir()) == [file]


def test_learners_of_freed_communicators_have_called_others(mpi: Runner, tmp_path: Path) -> None:
    # Otherwise the tests of guarded.cpp would prove nothing.
    stats = tmp_path / "stats.json"
    assert job(mpi, "none", "freed", settings={"STRETTO_STATS": str(stats)}).lines == []
    calls = used(stats)
    assert sum(calls.values()) == 2 * sum(range(17))
    assert len(calls) > 1
