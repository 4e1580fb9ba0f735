# SPDX-License-Identifier: Apache-2.0
"""The cost model: machine files, what jobs found out about networks, and the walker that predicts times."""

__all__ = [
    "fabric_file",
    "known_fabrics",
    "machine_file",
    "rule_regret",
    "walker",
]
