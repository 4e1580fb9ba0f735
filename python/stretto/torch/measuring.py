# SPDX-License-Identifier: Apache-2.0
"""Runs the measuring program as a rank that torchrun has started, and lets it meet the others.

torchrun ... -m stretto.torch.measuring PROGRAM...
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch.distributed

from stretto.sockets.store import VARIABLE, serve
from stretto.support.errors import StrettoError
from stretto.torch.meeting import Clock, meet

dist: Any = torch.distributed  # its stubs are incomplete

_LONGEST_START = timedelta(seconds=300)


def run(program: Sequence[str]) -> int:
    """Run the program to its end. Returns its exit status."""
    store, rank, size = next(dist.rendezvous("env://", timeout=_LONGEST_START))
    _, name = meet(store, rank, size, Clock(_LONGEST_START))
    own = dist.PrefixStore(f"stretto/{name}", store)
    ours, its = socket.socketpair()
    environment = os.environ | {VARIABLE: str(its.fileno())}
    threading.Thread(target=serve, args=(ours, own.set, own.get), daemon=True).start()
    with subprocess.Popen(program, env=environment, pass_fds=(its.fileno(),)) as process:
        its.close()
        status = process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except StrettoError as error:
        sys.exit(f"stretto: {error}")
