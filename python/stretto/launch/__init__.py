# SPDX-License-Identifier: Apache-2.0
"""Starts programs with Stretto under them: MPI libraries, launchers, jobs and emulated clusters."""

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
