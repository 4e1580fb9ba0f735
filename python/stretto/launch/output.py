# SPDX-License-Identifier: Apache-2.0
"""What a job prints, read while it runs, with an end to one's patience."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections.abc import Iterator

from stretto.results.runs import EndedError
from stretto.support.units import format_seconds


class ProgramOutput:
    """The lines of a process whose output is piped."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._queue: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(ValueError, OSError):  # closed by who started the process
            for line in self._process.stdout or ():
                self._queue.put(line)
        self._queue.put(None)

    def lines(self, patience: float) -> Iterator[str]:
        """Until the output ends. Raises EndedError where nothing is said for `patience` seconds."""
        while True:
            try:
                line = self._queue.get(timeout=patience)
            except queue.Empty:
                raise EndedError(f"the job said nothing for {format_seconds(patience)}: stopped it") from None
            if line is None:
                return
            yield line
