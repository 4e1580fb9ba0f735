# SPDX-License-Identifier: Apache-2.0
"""The command line: a file a command, with its options and nothing else."""

__all__ = [
    "algorithms",
    "bench",
    "calibrate",
    "completion",
    "explain",
    "lab",
    "listing",
    "main",
    "options",
    "profile",
    "program",
    "report",
    "result_options",
    "show",
    "trace",
    "tune",
    "verify",
]
