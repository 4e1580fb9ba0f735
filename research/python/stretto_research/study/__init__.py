# SPDX-License-Identifier: Apache-2.0
"""Measures all ways to carry out a collective, and checks performance guidelines."""

__all__ = [
    "guidelines",
    "guidelines_file",
    "output",
    "runs",
    "session",
    "specs",
]
