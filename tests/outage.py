# SPDX-License-Identifier: Apache-2.0
"""Takes the link of a node down while a job runs in a lab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stretto.lab.cluster import Lab
from stretto.lab.links import DOWN, UP


@contextmanager
def outage(lab: Lab, node: int) -> Iterator[None]:
    """A block during which a node reaches no other one."""
    lab.change(nodes=[node], state=DOWN)
    try:
        yield
    finally:
        lab.change(nodes=[node], state=UP)
