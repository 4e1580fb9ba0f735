# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a job without MPI, on this machine or in the nodes of a lab, and is their store.

    python -m stretto.sockets.ranks PREFIXES PROGRAM...

`PREFIXES`: a JSON list of command lines, one for each rank, that each start what follows them.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence

from stretto.sockets.store import SECRET, VARIABLE, serve


class _Values:
    """The values of a store, for the threads that serve ranks."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def set(self, key: str, value: bytes) -> None:
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: key in self._values)
            return self._values[key]


def run(prefixes: Sequence[Sequence[str]], program: Sequence[str]) -> int:
    """Run the ranks to their end; only rank 0 reads standard input. The first failure ends the others."""
    values = _Values()
    values.set(SECRET, secrets.token_bytes(16))
    processes: dict[int, subprocess.Popen[bytes]] = {}
    for rank, prefix in enumerate(prefixes):
        ours, its = socket.socketpair()
        environment = os.environ | {
            "RANK": str(rank), "WORLD_SIZE": str(len(prefixes)), VARIABLE: str(its.fileno())
        }  # fmt: skip
        process = subprocess.Popen(
            [*prefix, *program],
            stdin=None if rank == 0 else subprocess.DEVNULL,
            env=environment,
            pass_fds=(its.fileno(),),
        )
        its.close()
        processes[process.pid] = process
        threading.Thread(target=serve, args=(ours, values.set, values.get), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: _end(processes.values()))
    status = 0
    while processes:
        ended, code = os.wait()
        if processes.pop(ended, None) is not None and status == 0 and code != 0:
            code = os.waitstatus_to_exitcode(code)
            status = code if code > 0 else 128 - code
            _end(processes.values())
    return status


def _end(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    for process in list(processes):
        os.kill(process.pid, signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(run(json.loads(sys.argv[1]), sys.argv[2:]))
