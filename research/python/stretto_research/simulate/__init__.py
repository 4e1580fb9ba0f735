# SPDX-License-Identifier: Apache-2.0
"""Runs collectives in virtual time on SimGrid's SMPI: platforms, jobs, and the MPI libraries' choices."""

__all__ = [
    "jobs",
    "library_choices",
    "model_comparison",
    "output",
    "platforms",
    "smpi",
]
