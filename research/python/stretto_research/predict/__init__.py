# SPDX-License-Identifier: Apache-2.0
"""Predicts calls by the model, and judges the model by measured times."""

__all__ = [
    "device_copies",
    "judgement",
    "output",
    "specs",
]
