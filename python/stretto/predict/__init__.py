# SPDX-License-Identifier: Apache-2.0
"""Holds predictions of the model against measured times."""

__all__ = [
    "file",
    "judgement",
    "measured",
]
