# SPDX-License-Identifier: Apache-2.0
"""Finds the fastest spec of each size within a budget of time, and writes the table."""

__all__ = [
    "bench",
    "candidates",
    "evidence",
    "findings",
    "journal",
    "launches",
    "modelled",
    "rule_regret",
    "search",
    "table",
    "times",
]
