# SPDX-License-Identifier: Apache-2.0
"""Starts the measuring program without MPI: its ranks meet at a store, and communicate over sockets."""

__all__ = [
    "commands",
    "store",
]
