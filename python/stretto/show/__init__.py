# SPDX-License-Identifier: Apache-2.0
"""Proves and draws schedules: timelines, pictures, tables of algorithms."""

__all__ = [
    "algorithms",
    "drawing",
    "proof",
    "timeline",
]
