# SPDX-License-Identifier: Apache-2.0
"""Emulated clusters of network namespaces on one machine, and jobs in them."""

__all__ = [
    "cluster",
    "commands",
    "jobs",
    "links",
]
