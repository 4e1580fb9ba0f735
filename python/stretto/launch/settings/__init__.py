# SPDX-License-Identifier: Apache-2.0
"""Makes MPI libraries use their best own algorithms: the part of a table's gain that needs no Stretto."""

__all__ = [
    "export",
    "library",
    "tables",
]
