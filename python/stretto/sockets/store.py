# SPDX-License-Identifier: Apache-2.0
"""Serves a store to a rank of the measuring program without MPI (src/bench/library/store_job.cpp).

The rank asks by lines, `set KEY HEX` and `get KEY`, and gets a line for each: `ok` or the value.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

VARIABLE = "STRETTO_STORE"
"""The variable that names the rank's end of the connection, an open file."""

SECRET = "secret"
"""The key of the job's secret: 16 bytes."""


def serve(
    connection: socket.socket, set_value: Callable[[str, bytes], None], get_value: Callable[[str], bytes]
) -> None:
    """Answer until the rank closes its end, or a function raises RuntimeError. `get_value` waits."""
    with connection, connection.makefile("rw", encoding="ascii") as lines:
        for line in lines:
            what, key, *value = line.split()
            try:
                if what == "set":
                    set_value(key, bytes.fromhex(value[0]))
                    answer = "ok"
                else:
                    answer = get_value(key).hex()
            except RuntimeError:
                return
            lines.write(f"{answer}\n")
            lines.flush()
