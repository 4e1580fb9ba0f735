# SPDX-License-Identifier: Apache-2.0
"""Predicts and explains calls by the model, and judges the model by measured times."""

__all__ = [
    "explanation",
    "explanation_output",
    "file",
    "judgement",
    "measured",
    "output",
    "overview",
    "rule",
    "specs",
]
