# SPDX-License-Identifier: Apache-2.0
"""The part of the jobs that a terminal shows, and the keys that move it."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from stretto.top.activity import Job

QUIT = "q"
_ESCAPES = {b"\x1b[A": "up", b"\x1b[B": "down", b"\x1b[5~": "page up", b"\x1b[6~": "page down"}
_HELP = "↑↓ PgUp PgDn: lines; n, p: job; a: all; q: quit"


@dataclass
class Screen:
    """What is shown: one job or all, from which line on."""

    job: int | None = None
    """The number of the chosen job; None for all."""
    first: int = 0
    """The first line that is shown."""

    def chosen(self, jobs: Sequence[Job]) -> list[Job]:
        """Returns the jobs to show. If the chosen one has ended, these are all."""
        return [one for one in jobs if one.number == self.job] or list(jobs)

    def press(self, key: str, jobs: Sequence[Job], height: int) -> None:
        """Move by a key. `height`: the lines of the terminal."""
        numbers: list[int | None] = [None, *(one.number for one in jobs)]
        at = numbers.index(self.job) if self.job in numbers else 0
        steps = {"up": -1, "down": 1, "page up": 2 - height, "page down": height - 2}
        turns = {"n": at + 1, "p": at - 1, "a": 0}
        if key in turns:
            self.job, self.first = numbers[turns[key] % len(numbers)], 0
        self.first += steps.get(key, 0)

    def visible(self, lines: Sequence[Text], jobs: Sequence[Job], height: int) -> list[Text]:
        """Returns the lines that fit, and a last one that says what is not shown and which keys there are."""
        room = max(1, height - 1)
        self.first = max(0, min(self.first, len(lines) - room))
        shown = list(lines[self.first : self.first + room])
        parts = []
        if len(jobs) > 1:
            at = next((at for at, one in enumerate(jobs, 1) if one.number == self.job), 0)
            parts.append(f"job {at} of {len(jobs)}" if at else f"all {len(jobs)} jobs")
        if len(shown) < len(lines):
            parts.append(f"lines {self.first + 1}-{self.first + len(shown)} of {len(lines)}")
        return [*shown, Text("; ".join([*parts, _HELP]), "reverse")]


@contextlib.contextmanager
def keys() -> Iterator[Callable[[float], str]]:
    """Gives the block a function that waits so many seconds for a key: its name, empty if none came."""
    if not sys.stdin.isatty():
        yield _sleep
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield lambda seconds: _key(descriptor, seconds)
    finally:
        with contextlib.suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return ""


def _key(descriptor: int, seconds: float) -> str:
    if not select.select([descriptor], [], [], seconds)[0]:
        return ""
    try:
        read = os.read(descriptor, 64)
    except OSError:
        read = b""
    # Nothing can be read from a terminal that is gone.
    return _ESCAPES.get(read) or read[:1].decode("ascii", "replace") or QUIT
