# SPDX-License-Identifier: Apache-2.0
"""Measures how far Stretto's default is from the best known spec on many networks, and draws a map of it.

Each network is emulated in turn; on each, every MPI library calls every collective.
"""

__all__ = [
    "file",
    "libraries",
    "map",
    "measure",
    "networks",
    "output",
    "session",
    "specs",
]
