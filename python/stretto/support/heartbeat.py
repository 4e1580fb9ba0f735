# SPDX-License-Identifier: Apache-2.0
"""Prints a line of progress now and then. Needs no package, since workers use it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds before each line. The last value repeats.
PAUSES = [10.0, 30.0, 60.0]


@contextmanager
def lines_now_and_then(text: Callable[[], str]) -> Iterator[None]:
    """While the block runs, print `text()` and the time spent on standard error now and then."""
    ended = threading.Event()
    begin = time.monotonic()

    def speak() -> None:
        pauses = list(PAUSES)
        while not ended.wait(pauses.pop(0) if len(pauses) > 1 else pauses[0]):
            minutes, seconds = divmod(round(time.monotonic() - begin), 60)
            print(f"stretto: {text()}, {minutes}:{seconds:02d} so far", file=sys.stderr, flush=True)

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()
