# SPDX-License-Identifier: Apache-2.0
"""Changes the spec of allreduce during a training (stretto_force)."""

from __future__ import annotations

import ctypes

LEAST_BYTES = 4096
"""Messages shorter than this keep the usual choice. Between steps, Horovod's thread coordinates the ranks
by shorter messages. Longer messages are sent only after all ranks have begun the next step."""


def is_there() -> bool:
    """Whether Stretto is loaded in this process."""
    return hasattr(ctypes.CDLL(None), "stretto_force")


def force_allreduce(spec: str) -> None:
    """Force a spec from the next step on. All ranks must call it after the same step."""
    force = ctypes.CDLL(None).stretto_force
    force.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    if force(b"allreduce", spec.encode(), LEAST_BYTES) != 0:
        raise RuntimeError(f"Stretto refuses the spec {spec}")
