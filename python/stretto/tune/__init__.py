# SPDX-License-Identifier: Apache-2.0
"""Finds the fastest spec of each size within a budget of time, and writes the table."""

__all__ = [
    "bench",
    "candidates",
    "findings",
    "launches",
    "output",
    "session",
    "table",
]
