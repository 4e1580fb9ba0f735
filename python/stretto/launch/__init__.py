# SPDX-License-Identifier: Apache-2.0
"""Starts programs with Stretto under them: MPI libraries, launchers, jobs and emulated clusters."""

__all__ = [
    "environment",
    "jobs",
    "mpi",
    "output",
    "run",
    "settings",
]
