# SPDX-License-Identifier: Apache-2.0
"""Results of measurements: runs of samples, and the files that keep them."""

__all__ = [
    "file",
    "runs",
]
