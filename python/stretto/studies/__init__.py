# SPDX-License-Identifier: Apache-2.0
"""Runs of `stretto bench` and of studies: their files, the gains at each size, and their charts."""

__all__ = [
    "analysis",
    "figures",
    "file",
]
