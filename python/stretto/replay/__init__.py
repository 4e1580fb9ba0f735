# SPDX-License-Identifier: Apache-2.0
"""Replays a training on a simulated cluster: Horovod's logic, calls timed by SMPI."""

__all__ = [
    "durations",
    "horovod",
    "output",
    "play",
    "source",
]
