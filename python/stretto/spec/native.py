# SPDX-License-Identifier: Apache-2.0
"""Specs of the MPI library: `native` is the MPI default, `native(ring)` its own algorithm of that name.

Only the measuring program accepts the second. A tuning table has `native` instead, with the name beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NATIVE = "native"

SOCKETS = "sockets"
"""The name of jobs without MPI where options and tables name an MPI library. They have no `native`."""

FAMILIES = {"openmpi": "Open MPI", "mpich": "MPICH", "intelmpi": "Intel MPI"}
"""The MPI families by their names in options, and by the names that people read."""

# MPICH's algorithms that need parameters, which control variables do not give; and its algorithms for
# operations that do not commute, which end the job if the operation commutes.
_NOT_BY_NAME = re.compile(
    r"(tsp_)?(k_|recexch|recursive_multiplying|(pipelined_)?tree).*|.*noncommutative|nb"
)


def native_by(name: str) -> str:
    """The spec `native(NAME)`."""
    return f"{NATIVE}({name})"


def library_name(spec: str) -> str | None:
    """The NAME of `native(NAME)`; None for any other spec."""
    return spec[len(NATIVE) + 1 : -1] if spec.startswith(f"{NATIVE}(") and spec.endswith(")") else None


def usable(names: Sequence[str], ranks: int) -> list[str]:
    """The names among a library's own algorithms that can be used with that number of ranks."""
    return [name for name in names if not _NOT_BY_NAME.fullmatch(name) and (ranks == 2 or name != "two_proc")]
