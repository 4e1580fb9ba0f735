# SPDX-License-Identifier: Apache-2.0
"""Starts programs with Stretto under them: MPI libraries and their settings, launchers, jobs."""

__all__ = [
    "command_lines",
    "environment",
    "jobs",
    "mpi",
    "output",
    "run",
    "settings",
]
