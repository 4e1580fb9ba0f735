# SPDX-License-Identifier: Apache-2.0
"""What is asked for: collectives, specs, topologies, and the networks that are trained."""

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
