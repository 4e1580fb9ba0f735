# SPDX-License-Identifier: Apache-2.0
"""Starts the measuring program without MPI: its ranks meet by a store, and talk over sockets."""

__all__ = [
    "commands",
    "store",
]
