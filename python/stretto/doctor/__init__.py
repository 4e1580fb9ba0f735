# SPDX-License-Identifier: Apache-2.0
"""Checks the installation, and reports what is missing and how to get it."""

__all__ = [
    "lines",
    "report",
]
