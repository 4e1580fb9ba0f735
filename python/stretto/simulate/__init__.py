# SPDX-License-Identifier: Apache-2.0
"""Clusters in virtual time: platforms, SMPI, and what MPI libraries choose there."""

__all__ = [
    "jobs",
    "library_choices",
    "library_tables",
    "model_comparison",
    "platforms",
    "smpi",
]
