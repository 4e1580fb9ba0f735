# SPDX-License-Identifier: Apache-2.0
"""Replays a training on a simulated cluster.

Horovod's logic is played in Python; SimGrid's SMPI times its calls.
"""

__all__ = [
    "comparison",
    "durations",
    "file",
    "horovod",
    "plan",
    "play",
    "plot",
    "source",
    "table",
]
