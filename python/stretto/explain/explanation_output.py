# SPDX-License-Identifier: Apache-2.0
"""Prints what `stretto explain` finds: the candidates with their times, and what the call uses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from stretto.explain.choices import Claim
from stretto.explain.explanation import Candidate, Explanation
from stretto.model.fabric_file import heading_lines
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology
from stretto.support.console import print_lines
from stretto.support.tables import Column, ResultTable, marked
from stretto.support.units import format_bytes, format_percent, format_place, format_seconds

_PARTS = ("latency", "wire", "reduction", "overhead", "waiting")


@dataclass(frozen=True)
class _Line:
    """Candidates that the figures cannot tell apart."""

    first: Candidate
    others: list[Candidate]


def print_explanation(explanation: Explanation, top: int) -> None:
    """Print the first `top` lines of candidates, and in any case the spec in force and `native`."""
    in_force, bound = explanation.in_force, explanation.bound
    lines = _alike(explanation.candidates, in_force.spec)
    shown = [one for at, one in enumerate(lines) if at < top or one.first.spec in (in_force.spec, NATIVE)]
    if explanation.fabric:
        print_lines(heading_lines(explanation.fabric, os.environ), style="")
    _candidates_table(explanation, shown).print()
    _claims_table(explanation.claims).print()
    notes = [f"*: in force: {in_force.spec}, by {in_force.reason}"]
    if in_force.row:
        notes.append(f"the rule's row: {in_force.row} (all of it: stretto explain --rule)")
    if any(one.is_compared for one in explanation.claims):
        others = "the MPI default" if explanation.has_library else "other specs"
        notes.append(f"a job's first calls compare it with {others}, and the fastest stays")
    if not explanation.fabric:
        if explanation.modelled:
            notes.append(_modelled(explanation))
        notes.append("jobs also use what they have found out about their network: add --fabric latest")
    notes += explanation.inside
    notes += explanation.between
    if bound:
        notes.append(f"bound: the links need {format_seconds(bound)}, whatever the algorithm")
    notes.append(explanation.verdict)
    native = "; native: the best textbook algorithm" if explanation.has_library else ""
    if any(line.others for line in shown):
        notes.append("alike: +2 means that two more specs have the same predicted times (--json lists them)")
    notes.append(f"parts: what the predicted critical path consists of{native}")
    print_lines(notes, style="")


def _candidates_table(explanation: Explanation, shown: Sequence[_Line]) -> ResultTable[_Line]:
    call, bound = explanation.call, explanation.bound
    topology = parse_topology(call.topology)
    place = format_place(topology.ranks, topology.nodes)

    def of_bound(one: Candidate) -> str:
        return format_percent(bound / (one.measured or one.predicted)) if bound else ""

    return ResultTable(
        [
            marked(lambda line: line.first.spec == explanation.in_force.spec),
            Column("spec", lambda line: line.first.spec, left=True, is_key=True),
            Column("predicted", lambda line: format_seconds(line.first.predicted)),
            Column("measured", lambda line: _measured(line.first)),
            Column("of bound", lambda line: of_bound(line.first)),
            Column("alike", lambda line: f"+{len(line.others)}" if line.others else ""),
            *(_part_column(part) for part in _PARTS),
        ],
        shown,
        title=f"{call.collective} of {format_bytes(call.bytes)}, {place} ({explanation.model.machine.name})",
        style=lambda line: "bold" if line.first.spec == explanation.in_force.spec else "",
    )


def _measured(one: Candidate) -> str:
    return format_seconds(one.measured) if one.measured else ""


def _part_column(part: str) -> Column[_Line]:
    return Column(part, lambda line: _share(line.first.parts[part], line.first.predicted), detail=1)


def _alike(ranked: Sequence[Candidate], in_force: str) -> list[_Line]:
    """The candidates; those that look the same share a line, except `native` and the spec in force."""
    groups: dict[object, list[Candidate]] = {}
    for one in ranked:
        parts = tuple(_share(one.parts[part], one.predicted) for part in _PARTS)
        figures = (format_seconds(one.predicted), parts)
        is_alone = one.measured or one.spec in (in_force, NATIVE)
        groups.setdefault(one.spec if is_alone else figures, []).append(one)
    return [_Line(first, others) for first, *others in groups.values()]


def _modelled(explanation: Explanation) -> str:
    specs = explanation.modelled
    if not explanation.has_library:
        return f"a job that measures such a network takes {specs[0]}"
    return f"a job that measures such a network compares these with the MPI default: {', '.join(specs)}"


def _claims_table(claims: Sequence[Claim]) -> ResultTable[Claim]:
    """A table of the claims on the call; the first one with a spec decides."""
    return ResultTable(
        [
            marked(lambda one: one.decides),
            Column("choice", lambda one: one.source, left=True, is_key=True),
            Column("spec", lambda one: one.spec or "", left=True, is_key=True),
            Column(
                "why",
                lambda one: f"{one.reason}: {one.row}" if one.row else one.reason,
                left=True,
                wraps=True,
            ),
        ],
        claims,
        title="whose choice it is in a job",
        style=lambda one: "bold" if one.decides else "",
    )


def _share(part: float, whole: float) -> str:
    """A part in percent; empty if it rounds to nothing."""
    return format_percent(part / whole) if whole > 0 and part > 0.005 * whole else ""
