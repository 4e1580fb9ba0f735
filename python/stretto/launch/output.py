# SPDX-License-Identifier: Apache-2.0
"""Reads the output of a running job, with a limit on silence."""

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
        with contextlib.suppress(ValueError, OSError):  # whoever started the process closed it
            for line in self._process.stdout or ():
                self._queue.put(line)
        self._queue.put(None)

    def lines(self, most_silence: float) -> Iterator[str]:
        """The lines until the output ends. Raises EndedError after `most_silence` seconds without a line."""
        while True:
            try:
                line = self._queue.get(timeout=most_silence)
            except queue.Empty:
                raise EndedError(
                    f"the job printed nothing for {format_seconds(most_silence)}: stopped it"
                ) from None
            if line is None:
                return
            yield line
