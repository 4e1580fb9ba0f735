# SPDX-License-Identifier: Apache-2.0
"""Reproduces the papers' figures, one module per paper or part of it.

Each claim of a paper gets a verdict.
"""

__all__ = [
    "catalog",
    "figure",
    "page",
    "run",
    "table",
]
