# SPDX-License-Identifier: Apache-2.0
"""Measured times by call and spec, from files of `stretto bench` and `stretto study`."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.launch.mpi import library_name
from stretto.model.walker import Call
from stretto.results import runs
from stretto.results.runs import BLOCKING, Run
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError
from stretto.support.extras import require
from stretto.support.json_files import read_json

if TYPE_CHECKING:
    from stretto.studies.file import Study


@dataclass(slots=True)
class Measured:
    """Median seconds of blocking, out-of-place calls."""

    by_call: dict[Call, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """Seconds by call, then by spec; `auto` is Stretto's own choice."""
    libraries: list[str] = field(default_factory=list)

    def times(self, call: Call) -> dict[str, float]:
        """Seconds by spec of a call, even if its topology is written differently; empty if there are none."""
        wanted = parse_topology(call.topology)
        for other, times in self.by_call.items():
            if (other.collective, other.bytes) == (call.collective, call.bytes):
                topology = parse_topology(other.topology)
                if topology.node_of == wanted.node_of:
                    return {spec: seconds for spec, seconds in times.items() if spec != "auto"}
        return {}

    def add(self, run: Run) -> None:
        """Add the times of one run. A reduce_scatter_block counts as a reduce_scatter of equal blocks."""
        # The measuring program reports the ranks of each node; launchers fill one node after the other.
        topology = "ppn=" + "+".join(map(str, run.ppn))
        self.libraries.append(library_name(run.library))
        for series in run.series:
            if series.form == BLOCKING and not series.in_place:
                call = Call(run.collective.algorithms, series.bytes, topology)
                self.by_call[call][series.spec] = statistics.median(series.seconds)


def read_measured(files: Sequence[Path]) -> Measured:
    """The times in the files. Raises StrettoError for a file of another kind."""
    measured = Measured()
    for file in files:
        for one in _read(file).runs:
            measured.add(one.run)
    return measured


def _read(file: Path) -> Study:
    require(f"{file}: reading measured times", "pydantic")
    from stretto.studies import file as study_file  # noqa: PLC0415  needs Pydantic

    content = read_json(file)
    if content.get("format") == study_file.FORMAT:
        return study_file.parse_study(content, file)
    if content.get("format") == runs.FORMAT:
        return study_file.parse_bench(content, file)
    raise StrettoError(f"{file}: expected a file of stretto bench or stretto study")
