# SPDX-License-Identifier: Apache-2.0
"""What the ranks of this node are doing: their live counters, read while the job runs."""

__all__ = [
    "reader",
    "view",
]
