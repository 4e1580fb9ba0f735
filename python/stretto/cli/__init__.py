# SPDX-License-Identifier: Apache-2.0
"""The command line: a file a command, with its options and nothing else."""

__all__ = [
    "advise",
    "bench",
    "calibrate",
    "explain",
    "lab",
    "main",
    "predict",
    "profile",
    "program",
    "replay",
    "report",
    "reproduce",
    "schedules",
    "simulate",
    "study",
    "trace",
    "train",
    "tune",
]
