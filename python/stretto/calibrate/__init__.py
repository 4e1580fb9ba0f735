# SPDX-License-Identifier: Apache-2.0
"""Makes a machine file from measurements: points, fits, remarks, plots."""

__all__ = [
    "output",
    "plot",
    "session",
    "simulation",
]
