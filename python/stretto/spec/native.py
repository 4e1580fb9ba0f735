# SPDX-License-Identifier: Apache-2.0
"""Specs of the MPI library's own: `native` as it chooses, `native(ring)` by its algorithm of that name.

The second is for the measuring program only. A table says `native` in its place, with the name beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NATIVE = "native"

# Those that MPICH's tuning file takes with parameters only, which the control variables do not give; and
# those for operations that do not commute, which end the job if they are told to do others.
_NOT_BY_NAME = re.compile(
    r"(tsp_)?(k_|recexch|recursive_multiplying|(pipelined_)?tree).*|.*noncommutative|nb"
)


def native_by(name: str) -> str:
    """`native(NAME)`"""
    return f"{NATIVE}({name})"


def library_name(spec: str) -> str | None:
    """NAME of `native(NAME)`; None of any other spec."""
    return spec[len(NATIVE) + 1 : -1] if spec.startswith(f"{NATIVE}(") and spec.endswith(")") else None


def usable(names: Sequence[str], ranks: int) -> list[str]:
    """Of the names of a library's own algorithms those that can be asked for, by so many ranks."""
    return [name for name in names if not _NOT_BY_NAME.fullmatch(name) and (ranks == 2 or name != "two_proc")]
