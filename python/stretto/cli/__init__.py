# SPDX-License-Identifier: Apache-2.0
"""The command line: a file a command, with its options and nothing else."""

__all__ = [
    "advise",
    "algorithms",
    "bench",
    "calibrate",
    "explain",
    "lab",
    "main",
    "predict",
    "profile",
    "program",
    "regret",
    "replay",
    "report",
    "reproduce",
    "show",
    "simulate",
    "study",
    "trace",
    "train",
    "tune",
    "verify",
]
