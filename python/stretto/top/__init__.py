# SPDX-License-Identifier: Apache-2.0
"""Shows what the ranks of this node are doing. Reads their live counters while the job runs."""

__all__ = [
    "reader",
    "view",
]
