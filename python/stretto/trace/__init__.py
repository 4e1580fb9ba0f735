# SPDX-License-Identifier: Apache-2.0
"""Reads what the ranks of a job recorded, and sums it up: traces, profiles.

A profile holds the training steps as well, from Horovod's timeline.
"""

__all__ = [
    "files",
    "profile_file",
    "profile_plot",
    "profile_run",
    "profile_summary",
    "profile_table",
    "summary",
    "summary_file",
    "table",
    "timeline_plot",
]
