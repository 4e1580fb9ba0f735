# SPDX-License-Identifier: Apache-2.0
"""Makes a machine file from measurements: points, fits, remarks, plots."""

__all__ = [
    "directions",
    "engine",
    "fit",
    "limits",
    "plot",
    "points",
    "protocols",
    "reduction",
    "remarks",
    "simulation",
    "table",
]
