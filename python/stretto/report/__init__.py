# SPDX-License-Identifier: Apache-2.0
"""Makes one HTML page of whatever files Stretto wrote."""

__all__ = [
    "choices",
    "guidelines",
    "inputs",
    "models",
    "page",
    "png",
    "statistics",
    "study",
]
