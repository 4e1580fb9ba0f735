# SPDX-License-Identifier: Apache-2.0
"""The things that users name: collectives, specs and topologies."""

__all__ = [
    "checks",
    "collectives",
    "labels",
    "native",
    "recipes",
    "topologies",
]
