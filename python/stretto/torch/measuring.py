# SPDX-License-Identifier: Apache-2.0
"""Runs the measuring program as a rank that torchrun has started, and lets it meet the others.

torchrun ... -m stretto.torch.measuring PROGRAM...
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import torch.distributed

from stretto.sockets.store import SECRET, VARIABLE, serve
from stretto.support.errors import StrettoError
from stretto.torch.job_secret import Secrecy
from stretto.torch.meeting import Clock, agree

dist: Any = torch.distributed  # its stubs are incomplete

_LONGEST_START = timedelta(seconds=300)


def run(program: Sequence[str]) -> int:
    """Run the program to its end. Returns its exit status."""
    store, rank, size = next(dist.rendezvous("env://", timeout=_LONGEST_START))
    secrecy = Secrecy(store, size, os.environ)
    with ExitStack() as until_end:

        def decide(_words: Sequence[str]) -> str:
            job = secrets.token_hex(8)
            return f"{job} {secrecy.offer(job, until_end)}"

        job, _, offer = agree(store, rank, size, Clock(_LONGEST_START), "", decide).partition(" ")
        secret = secrecy.take(job, offer)
        own = dist.PrefixStore(f"stretto/{job}", store)
        ours, its = socket.socketpair()
        get_value = lambda key: secret if key == SECRET else own.get(key)  # noqa: E731
        threading.Thread(target=serve, args=(ours, own.set, get_value), daemon=True).start()
        environment = os.environ | {VARIABLE: str(its.fileno())}
        with subprocess.Popen(program, env=environment, pass_fds=(its.fileno(),)) as process:
            its.close()
            status = process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except StrettoError as error:
        sys.exit(f"stretto: {error}")
