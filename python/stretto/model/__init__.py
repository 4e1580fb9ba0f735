# SPDX-License-Identifier: Apache-2.0
"""The cost model: machine files, and the schedule walker that predicts a call's time."""

__all__ = [
    "machine_file",
    "rule_regret",
    "walker",
]
