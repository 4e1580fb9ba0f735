# SPDX-License-Identifier: Apache-2.0
"""Measures training steps by several specs, in one job."""

__all__ = [
    "file",
    "job",
    "lines",
    "memory",
    "output",
    "result",
]
