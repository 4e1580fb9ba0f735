# SPDX-License-Identifier: Apache-2.0
"""Takes the link of a node down while a job runs in a lab."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from stretto.lab.cluster import INTERFACE, Lab


@contextmanager
def outage(lab: Lab, node: int) -> Iterator[None]:
    """A block during which a node reaches no other one."""

    def set_link(state: str) -> None:
        host = lab.require().hosts[node]
        subprocess.run(["ip", "-n", host, "link", "set", INTERFACE, state], check=True)

    set_link("down")
    try:
        yield
    finally:
        set_link("up")
