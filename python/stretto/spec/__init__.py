# SPDX-License-Identifier: Apache-2.0
"""The things that users name: collectives, specs, topologies, and the networks to train."""

__all__ = [
    "architectures",
    "checks",
    "collectives",
    "labels",
    "native",
    "networks",
    "recipes",
    "topologies",
]
