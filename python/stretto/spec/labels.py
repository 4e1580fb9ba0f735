# SPDX-License-Identifier: Apache-2.0
"""The names of specs in tables and charts, and the kinds of specs."""

from __future__ import annotations

import re
from enum import StrEnum

from stretto.spec.native import NATIVE

STRETTO = "auto"
"""The spec of Stretto's own choice."""
NATIVE_LABEL = "MPI default"


class Kind(StrEnum):
    """What carries out a collective."""

    NATIVE = "the MPI library's own choice"
    LIBRARY = "an algorithm of the MPI library, asked for by name"
    PIPELINING = "the MPI library's non-blocking call, whole or in concurrent segments"
    STRETTO = "Stretto's own choice"
    OWN = "an algorithm of Stretto, asked for by name"


def kind_of(spec: str) -> Kind:
    """The kind of a spec."""
    if spec == NATIVE:
        return Kind.NATIVE
    if spec == STRETTO:
        return Kind.STRETTO
    if spec.startswith("native("):
        return Kind.LIBRARY
    return Kind.PIPELINING if spec.startswith("native:") else Kind.OWN


def label_of(spec: str) -> str:
    """The name in charts and tables: the papers' NBL and NBLxK for non-blocking calls, else the spec."""
    if spec == NATIVE:
        return NATIVE_LABEL
    if spec == STRETTO:
        return "Stretto"
    segments = re.fullmatch(r"native:segments=(\d+)", spec)
    if segments:
        return "NBL" if segments[1] == "1" else f"NBLx{segments[1]}"
    return spec


def without_parameters(spec: str) -> str:
    """The algorithm and its parts: `smp(knomial:radix=4)` of `smp(knomial:radix=4):segments=2`."""
    depth = 0
    for place, letter in enumerate(spec):
        depth += (letter == "(") - (letter == ")")
        if letter == ":" and depth <= 0:
            return spec[:place]
    return spec
