# SPDX-License-Identifier: Apache-2.0
"""Finds the spec that a job uses at each size of a collective, for `stretto explain` without a size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from stretto.explain.choices import JobTable, Source, find_claims, read_job_table
from stretto.explain.explanation import find_in_force
from stretto.model.fabric_file import FabricFile, heading_lines
from stretto.model.walker import Call
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.native import FAMILIES, NATIVE, SOCKETS
from stretto.spec.topologies import parse_topology
from stretto.support.console import print_lines
from stretto.support.json_files import document_text
from stretto.support.tables import Column, ResultTable, marked
from stretto.support.units import format_bytes, format_place

FORMAT = "stretto-overview"
_LARGEST = 30
"""The largest size is 2 to this power: 1 GiB."""
_SOURCES: Mapping[Source, str] = {
    "forced": "a variable",
    "table": "the tuning table",
    "learnt": "a duel in an earlier job",
    "modelled": "the network's model",
    "rule": "the built-in rule",
}


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring sizes whose calls use one spec, chosen by one source."""

    collective: str
    begin: int
    """The least bytes of a message."""
    end: int | None
    """One more than the most bytes; None if there is no end."""
    spec: str
    source: Source
    is_compared: bool
    """Whether a job's first calls compare the spec, and the fastest stays."""

    @property
    def sizes(self) -> str:
        """The sizes in words."""
        if self.end is None:
            return f"from {format_bytes(self.begin)}" if self.begin else "all"
        below = f"below {format_bytes(self.end)}"
        return f"{format_bytes(self.begin)}, {below}" if self.begin else below


@dataclass(frozen=True, slots=True)
class Overview:
    """The specs that the calls of a job use."""

    topology: str
    family: str
    """The MPI family of the job, or sockets."""
    fabric: FabricFile | None
    spans: list[Span]


def look_over(
    collectives: Sequence[str], topology: str, table: Path | None, family: str, fabric: FabricFile | None
) -> Overview:
    """Find the spec of each size of some collectives, as a job in this environment would choose it."""
    found = read_job_table(table, family)
    spans = [span for name in collectives for span in _spans(name, topology, found, family, fabric)]
    return Overview(topology, family, fabric, spans)


def _spans(
    collective: str, topology: str, table: JobTable, family: str, fabric: FabricFile | None
) -> Iterator[Span]:
    sizes = [1 << power for power in range(_LARGEST + 1)] if COLLECTIVES[collective].has_message else [0]
    begin, latest = 0, None
    for size in sizes:
        call = Call(collective, size, topology)
        claims = find_claims(call, table, os.environ, fabric, has_library=family != SOCKETS)
        in_force = find_in_force(claims)
        found = (in_force.spec, in_force.source, any(one.is_compared for one in claims))
        if latest is not None and found != latest:
            yield Span(collective, begin, size, *latest)
            begin = size
        latest = found
    if latest is not None:
        yield Span(collective, begin, None, *latest)


def print_overview(overview: Overview) -> None:
    """Print one table, with a line for each span."""
    where = parse_topology(overview.topology)
    if overview.fabric:
        print_lines(heading_lines(overview.fabric, os.environ), style="")
    first = {id(span) for at, span in enumerate(overview.spans) if _begins(overview.spans, at)}
    ResultTable(
        [
            Column(
                "collective",
                lambda span: span.collective if id(span) in first else "",
                left=True,
                is_key=True,
            ),
            Column("message", lambda span: span.sizes, left=True),
            Column("spec", lambda span: span.spec, left=True, is_key=True),
            marked(lambda span: span.is_compared),
            Column("chosen by", lambda span: _SOURCES[span.source], left=True, wraps=True),
        ],
        overview.spans,
        title=f"jobs {_families(overview.family)}, {format_place(where.ranks, where.nodes)}",
        section=lambda span: span.collective,
    ).print()
    lines = ["native: the MPI default"] if any(span.spec == NATIVE for span in overview.spans) else []
    if any(span.is_compared for span in overview.spans):
        others = "other specs" if overview.family == SOCKETS else "the MPI default"
        lines.append(f"*: a job's first calls compare it with {others}, and the fastest one stays")
    if not overview.fabric:
        lines.append("no job has measured this machine's network yet; the first one with larger calls does")
    lines.append("one call, its candidates and their times: stretto explain COLLECTIVE --bytes SIZE")
    print_lines(lines)


def _families(family: str) -> str:
    return "without MPI" if family == SOCKETS else f"of {FAMILIES.get(family, family)}"


def _begins(spans: Sequence[Span], at: int) -> bool:
    return at == 0 or spans[at - 1].collective != spans[at].collective


def overview_json(overview: Overview, command: Sequence[str]) -> str:
    """The output of --json."""
    fabric = overview.fabric
    content = {
        "topology": overview.topology,
        "mpi": overview.family,
        "fabric": str(fabric.path) if fabric else None,
        "spans": [asdict(span) for span in overview.spans],
    }
    return document_text(FORMAT, command, overview.topology, content)
