# SPDX-License-Identifier: Apache-2.0
"""MPI libraries, launchers, jobs and emulated clusters: how a program is started with Stretto under it."""

__all__ = [
    "doctor",
    "doctor_report",
    "environment",
    "job_guard",
    "jobs",
    "lab",
    "lab_commands",
    "lab_jobs",
    "mpi",
    "output",
    "run",
    "settings",
    "wrappers",
]
