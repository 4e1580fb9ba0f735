# SPDX-License-Identifier: Apache-2.0
"""The specs among which the best known one is looked for: the short list, the rule's, and those of tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from stretto import _core
from stretto.launch.settings.tables import read_table
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology
from stretto.tune.candidates import Candidates

# The registry says which recipes are good for short and which for long messages. In between, both are tried.
_SHORT_BELOW = 1 << 20
_LONG_FROM = 32 << 10


def rule_spec(call: str, ppn: Sequence[int], size: int, *, has_library: bool) -> str:
    """The choice of the built-in rule; `call` is named as in the C interface: iallreduce."""
    return _core.choose(call, size, parse_topology(topology_text(ppn)), has_library=has_library)


def candidates(collective: str, ppn: Sequence[int], size: int, rule: str) -> list[str]:
    """The rule's spec, and those of the short list that fit the nodes and the size, whole and in segments."""
    topology = topology_text(ppn)
    short = {
        str(_core.parse_spec(one.recipe, collective))
        for one in _core.short_list(collective)
        if (one.short_messages and size < _SHORT_BELOW) or (one.long_messages and size >= _LONG_FROM)
    }
    specs = [rule]
    for text in Candidates(collective, topology, cuts_native=False).all(size):
        spec = _core.parse_spec(text, collective)
        is_whole = not (spec.segments or spec.segment_bytes)
        is_slow = is_whole and size >= _LONG_FROM and _core.needs_segments(collective, spec.recipe)
        if spec.recipe in short and not is_slow:
            specs.append(text)
    return [spec for spec in dict.fromkeys(specs) if spec != NATIVE]


def topology_text(ppn: Sequence[int]) -> str:
    """The topology of nodes with these numbers of ranks."""
    return f"ppn={'+'.join(map(str, ppn))}"


class Tables:
    """Tuning tables, each for one MPI library."""

    def __init__(self, files: Sequence[Path]) -> None:
        """Raises StrettoError if a file is no tuning table."""
        self._tables = [_core.read_table(json.dumps(read_table(file))) for file in files]

    def specs(self, library: str, call: str, ppn: Sequence[int], size: int) -> list[str]:
        """The specs of Stretto that the tables of this library (MPI_Get_library_version) choose.

        `call` is named as in the C interface: iallreduce.
        """
        found = []
        for table in self._tables:
            shape = table.find_shape(len(ppn), max(ppn), min(ppn))
            if not table.fit(library)[0] or shape is None:
                continue
            row = shape.find(call, size)
            if row is not None and row.spec != NATIVE:
                found.append(row.spec)
        return found
