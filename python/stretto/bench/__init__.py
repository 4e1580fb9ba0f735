# SPDX-License-Identifier: Apache-2.0
"""Measures collectives in one job: the targets, the measuring program, tables and files."""

__all__ = [
    "comparison",
    "files",
    "job",
    "options",
    "request",
    "table",
    "targets",
]
