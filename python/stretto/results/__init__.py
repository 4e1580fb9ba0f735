# SPDX-License-Identifier: Apache-2.0
"""What measuring leaves: runs of samples, and the files that keep them."""

__all__ = [
    "file",
    "runs",
]
