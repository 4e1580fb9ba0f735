# SPDX-License-Identifier: Apache-2.0
"""Compares clusters that do not exist yet, by model and simulation."""

__all__ = [
    "check",
    "cluster",
    "output",
    "plot",
    "search",
]
