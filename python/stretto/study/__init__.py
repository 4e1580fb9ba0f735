# SPDX-License-Identifier: Apache-2.0
"""Compares all ways to carry out a collective, and checks performance guidelines."""

__all__ = [
    "analysis",
    "curves",
    "figures",
    "file",
    "guidelines",
    "guidelines_file",
    "output",
    "runs",
    "session",
    "specs",
]
