# SPDX-License-Identifier: Apache-2.0
"""Finding ranks in /proc, among other processes and files."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from stretto.support.errors import StrettoError
from stretto.top.reader import Reader, Sample, ancestors_of, find_files

from .made_pages import MadeThread, made_page

# Holds a page, says that it does, and ends with its standard input.
HOLDER = """
import os, sys
content = bytes.fromhex(sys.argv[1])
file = os.memfd_create(sys.argv[2])
if "own" in sys.argv:
    content = content[:16] + os.getpid().to_bytes(4, "little") + content[20:]
os.write(file, content)
if "fork" in sys.argv and os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hold() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that holds a page, as a rank does."""
    with ExitStack() as held:

        def start(content: bytes, *more: str, name: str = "stretto-live") -> subprocess.Popen[str]:
            argv = [sys.executable, "-c", HOLDER, content.hex(), name, *more]
            process = held.enter_context(
                subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            return process

        yield start


def sample_of(reader: Reader, process: subprocess.Popen[str]) -> Sample | None:
    found = [sample for rank, sample in reader.sample(1).values() if rank.pid == process.pid]
    assert len(found) < 2
    return found[0] if found else None


def test_a_rank_comes_and_goes(hold: Callable[..., subprocess.Popen[str]]) -> None:
    thread = MadeThread(now="bcast", counts={"allreduce": (3, 24, 0)})
    process = hold(made_page(thread), "own")
    reader = Reader()
    first = sample_of(reader, process)
    assert first is not None
    assert first.is_first
    (found,) = first.page.threads
    assert found.counts["allreduce"].calls == 3
    # The rank is told to read the clock, from the first look on.
    assert found.watched_from == first.at
    assert found.watched_until > first.at + 10**9
    second = sample_of(reader, process)
    assert second is not None
    assert not second.is_first
    assert second.page.threads[0].watched_from == first.at
    process.kill()
    process.wait()
    assert sample_of(reader, process) is None


def test_a_child_is_no_rank(hold: Callable[..., subprocess.Popen[str]]) -> None:
    process = hold(made_page(MadeThread()), "own", "fork")
    holders = [pid for pid, _ in find_files() if process.pid in ancestors_of(pid)]
    assert len(holders) == 2
    found = [rank.pid for rank, _ in Reader(process.pid).sample(1).values()]
    assert found == [process.pid]


@pytest.mark.parametrize(
    "content",
    [made_page(magic=bytes(8)), made_page(), b"", bytes(10000)],
    ids=["job has ended", "of another process", "empty", "zeros"],
)
def test_what_is_no_rank(hold: Callable[..., subprocess.Popen[str]], content: bytes) -> None:
    assert sample_of(Reader(), hold(content)) is None


def test_another_file_is_not_opened(hold: Callable[..., subprocess.Popen[str]]) -> None:
    process = hold(made_page(MadeThread()), "own", name="stretto")
    assert process.pid not in [pid for pid, _ in find_files()]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (made_page(version=2), "it has version 2, and this stretto reads version 1"),
        (made_page()[:700], "it is cut off"),
    ],
)
def test_a_page_that_cannot_be_read(
    hold: Callable[..., subprocess.Popen[str]], content: bytes, said: str
) -> None:
    process = hold(content)
    reader = Reader(process.pid)
    assert reader.sample(1) == {}
    assert isinstance(reader.why_nothing(), StrettoError)
    assert f"the counters of process {process.pid} cannot be read: {said}" in str(reader.why_nothing())


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "12" / "fd").mkdir(parents=True)
    (tmp_path / "12" / "fd" / "3").symlink_to("/memfd:stretto-live (deleted)")
    (tmp_path / "self").symlink_to("12")
    assert list(find_files(tmp_path)) == [(12, tmp_path / "12" / "fd" / "3")]
    assert Reader(proc=tmp_path).sample(1) == {}
    assert list(ancestors_of(12, tmp_path)) == [12]


def test_ancestors() -> None:
    found = list(ancestors_of(os.getpid()))
    assert found[:2] == [os.getpid(), os.getppid()]


def test_the_places_of_the_viewer_are_where_ranks_look() -> None:
    # Offsets of watched_from and watched_until in LiveThread.
    thread = MadeThread(watched_from=5, watched_until=6).content()
    assert struct.unpack_from("=qq", thread, 24) == (5, 6)
