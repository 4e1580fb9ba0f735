# SPDX-License-Identifier: Apache-2.0
"""The networks that are trained: their layers, their gradients, and the sizes of their messages."""

__all__ = [
    "architectures",
    "gradients",
]
