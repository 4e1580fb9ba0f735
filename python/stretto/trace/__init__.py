# SPDX-License-Identifier: Apache-2.0
"""Reads what the ranks of a job recorded: traces, profiles, Horovod's timeline."""

__all__ = [
    "analysis",
    "files",
    "horovod_timeline",
    "profile",
    "profile_file",
    "profile_plot",
    "table",
]
