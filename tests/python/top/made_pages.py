# SPDX-License-Identifier: Apache-2.0
"""Pages as ranks write them, made up."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

NAMES = ["allreduce", "bcast", "barrier"]
THREADS = 3
THREADS_AT = 576
THREAD_BYTES = 192


@dataclass
class MadeThread:
    thread: int = 77
    now: str | None = None
    bytes_now: int = 0
    since: int = 0
    watched_from: int = 0
    watched_until: int = 0
    counts: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    is_shared: bool = False

    def content(self) -> bytes:
        now = 0 if self.now is None else NAMES.index(self.now) + 1
        head = struct.pack(
            "=iIQqqqII", self.thread, now, self.bytes_now, self.since, self.watched_from, self.watched_until,
            self.is_shared, 0,
        )  # fmt: skip
        counts = b"".join(struct.pack("=QQQ", *self.counts.get(name, (0, 0, 0))) for name in NAMES)
        return (head + counts).ljust(THREAD_BYTES, b"\0")


def made_page(
    *threads: MadeThread,
    magic: bytes = b"stretto\0",
    version: int = 1,
    pid: int = 12,
    rank: int = 0,
    ranks: int = 2,
    job: int = 5,
) -> bytes:
    """The content of a page with three places for threads; the last one is shared."""
    places = [*threads, *[MadeThread(thread=0)] * (THREADS - 1 - len(threads)), MadeThread(0, is_shared=True)]
    length = THREADS_AT + THREADS * THREAD_BYTES
    head = struct.pack(
        "=8sIIiiiiQqIIIIII64s", magic, version, length, pid, rank, ranks, 1, job, 10**18,
        THREADS_AT, THREAD_BYTES, THREADS, 48, len(NAMES), 0, b"Open MPI v4.1.4",
    )  # fmt: skip
    names = b"".join(name.encode().ljust(24, b"\0") for name in NAMES)
    return (head + names).ljust(THREADS_AT, b"\0") + b"".join(one.content() for one in places)
