# SPDX-License-Identifier: Apache-2.0
"""Specs of the MPI library's own: `native` as it chooses, `native(ring)` by its algorithm of that name.

The second is for the measuring program only. A table says `native` in its place, with the name beside it.
"""

from __future__ import annotations

NATIVE = "native"


def native_by(name: str) -> str:
    """`native(NAME)`"""
    return f"{NATIVE}({name})"


def library_name(spec: str) -> str | None:
    """NAME of `native(NAME)`; None of any other spec."""
    return spec[len(NATIVE) + 1 : -1] if spec.startswith(f"{NATIVE}(") and spec.endswith(")") else None
