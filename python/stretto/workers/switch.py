# SPDX-License-Identifier: Apache-2.0
"""Changing the spec of allreduce while the training runs (stretto_force)."""

from __future__ import annotations

import ctypes

LEAST_BYTES = 4096
"""Shorter messages stay with the choice. Between two steps Horovod's thread goes on asking the other ranks
what they have, by shorter messages; longer ones are sent only when all ranks have begun the next step."""


def is_there() -> bool:
    """Whether Stretto is under this process."""
    return hasattr(ctypes.CDLL(None), "stretto_force")


def force_allreduce(spec: str) -> None:
    """From the next step on. To be called on all ranks after the same step."""
    force = ctypes.CDLL(None).stretto_force
    force.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    if force(b"allreduce", spec.encode(), LEAST_BYTES) != 0:
        raise RuntimeError(f"Stretto does not take the spec {spec}")
