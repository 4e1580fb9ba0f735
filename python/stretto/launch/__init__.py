# SPDX-License-Identifier: Apache-2.0
"""MPI libraries, launchers, jobs and emulated clusters: how a program is started with Stretto under it."""

__all__ = [
    "doctor",
    "environment",
    "job_guard",
    "jobs",
    "lab",
    "lab_jobs",
    "library_settings",
    "mpi",
    "output",
    "run",
    "wrappers",
]
