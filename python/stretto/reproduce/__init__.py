# SPDX-License-Identifier: Apache-2.0
"""Reproduces the papers' figures, a file a paper, and judges each claim."""

__all__ = [
    "catalog",
    "figure",
    "libraries",
    "lines",
    "models",
    "node_aware",
    "page",
    "pipelined",
    "training",
    "trainings",
]
