# SPDX-License-Identifier: Apache-2.0
"""Reads the traces that the ranks of a job recorded, and makes summaries and profiles of them.

A profile also has the training steps, from Horovod's timeline.
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
