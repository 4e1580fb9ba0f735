# SPDX-License-Identifier: Apache-2.0
"""Charts with Matplotlib: one style, panels of curves, and the plots of a run."""

__all__ = [
    "drawing",
    "panels",
    "runs",
    "style",
]
