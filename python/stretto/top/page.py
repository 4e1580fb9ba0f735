# SPDX-License-Identifier: Apache-2.0
"""The page of memory in which a rank keeps its live counters (src/interpose/observe/live_page.hpp)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

VERSION = 1
_MAGIC = b"stretto\0"
_HEADER = struct.Struct("=8sIIiiiiQqIIIIII64s")
_NAME = struct.Struct("=24s")
_THREAD = struct.Struct("=iIQqqqII")
_COUNT = struct.Struct("=QQQ")
_WATCHED_FROM = 24
"""The offset of the viewer's two times in a thread's place."""


class PageError(Exception):
    """The reason why a page cannot be read, in a few words."""


@dataclass(frozen=True)
class Count:
    """Calls of one collective. `nanoseconds` is the time of the calls that ended while a viewer watched."""

    calls: int = 0
    bytes: int = 0
    nanoseconds: int = 0


@dataclass(frozen=True)
class Thread:
    """The counts and current call of a thread. Times are nanoseconds of CLOCK_MONOTONIC; 0 is unknown."""

    thread: int
    now: str | None
    bytes_now: int
    since: int
    watched_from: int
    watched_until: int
    is_shared: bool
    counts: dict[str, Count]


@dataclass(frozen=True)
class Page:
    """The counters of one rank."""

    pid: int
    """The process id inside the rank's own PID namespace."""
    rank: int
    ranks: int
    nodes: int
    job: int
    """A number that is the same on all ranks of a job."""
    began: float
    """The time at which the job began, in seconds since 1970."""
    library: str
    threads: list[Thread]
    watched_at: list[int]
    """The offsets of the viewer's two times in the page, for each thread that may be timed."""


def parse_page(content: bytes) -> Page | None:
    """Returns the page in this memory; None if no job runs. Raises PageError if the page is unusable."""
    if len(content) < _HEADER.size:
        raise PageError("it is cut off")
    (magic, version, length, pid, rank, ranks, nodes, job, began, threads_at, thread_bytes, threads,
     counters_at, collectives, _, library) = _HEADER.unpack_from(content)  # fmt: skip
    if magic != _MAGIC:
        return None
    if version != VERSION:
        raise PageError(f"it has version {version}, and this stretto reads version {VERSION}")
    if length > len(content) or threads_at + threads * thread_bytes > len(content):
        raise PageError("it is cut off")
    if counters_at < _THREAD.size or counters_at + collectives * _COUNT.size > thread_bytes:
        raise PageError("its lengths do not match")
    names = [
        _text(_NAME.unpack_from(content, _HEADER.size + number * _NAME.size)[0])
        for number in range(collectives)
    ]
    places = [threads_at + number * thread_bytes for number in range(threads)]
    found = [_parse_thread(content, place, place + counters_at, names) for place in places]
    return Page(
        pid, rank, ranks, nodes, job, began / 1e9, _text(library),
        [one for one in found if one.thread != 0],
        [place + _WATCHED_FROM for place, one in zip(places, found, strict=True) if not one.is_shared],
    )  # fmt: skip


def _parse_thread(content: bytes, place: int, counters: int, names: list[str]) -> Thread:
    thread, now, bytes_now, since, watched_from, watched_until, is_shared, _ = _THREAD.unpack_from(
        content, place
    )
    counts = {
        name: Count(*_COUNT.unpack_from(content, counters + number * _COUNT.size))
        for number, name in enumerate(names)
    }
    # Several threads that share a place overwrite each other's state.
    is_in = 0 < now <= len(names) and not is_shared
    return Thread(
        thread, names[now - 1] if is_in else None, bytes_now, since, watched_from, watched_until,
        bool(is_shared), counts,
    )  # fmt: skip


def _text(padded: bytes) -> str:
    return padded.partition(b"\0")[0].decode("utf-8", "replace")
