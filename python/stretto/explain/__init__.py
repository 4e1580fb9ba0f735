# SPDX-License-Identifier: Apache-2.0
"""Says which specs calls use and why, beside all other candidates and measured times."""

__all__ = [
    "explanation",
    "explanation_output",
    "measured",
    "overview",
    "rule",
]
