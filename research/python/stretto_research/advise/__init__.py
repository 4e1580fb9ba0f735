# SPDX-License-Identifier: Apache-2.0
"""Finds the fastest specs on a planned cluster, by model and simulation.

Nothing is measured.
"""

__all__ = [
    "cluster",
    "file",
    "plot",
    "result",
    "table",
]
