# SPDX-License-Identifier: Apache-2.0
"""What `stretto explain` prints: the candidates with their times, and what the call uses."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from stretto.model.fabric_file import FabricFile
from stretto.predict.choices import Claim
from stretto.predict.explanation import Explanation
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology
from stretto.support.console import console_for, print_lines
from stretto.support.units import format_bytes, format_place, format_seconds

_PARTS = ("latency", "wire", "reduction", "overhead", "waiting")


def print_explanation(explanation: Explanation, top: int) -> None:
    """Print the first `top` candidates, and in any case the spec in force and `native`."""
    call, in_force, ranked = explanation.call, explanation.in_force, explanation.candidates
    topology = parse_topology(call.topology)
    bound = explanation.bound
    shown = ranked[:top]
    shown += [one for one in ranked[top:] if one.spec in (in_force.spec, NATIVE)]
    has_measured = any(one.measured for one in shown)
    title = (
        f"{call.collective} of {format_bytes(call.bytes)}, {format_place(topology.ranks, topology.nodes)}"
        f" ({explanation.model.machine.name})"
    )
    table = Table(title=title, title_justify="left")
    headers = ["spec", "predicted", *(["measured"] if has_measured else []), "of bound", *_PARTS]
    for header in headers:
        table.add_column(header, justify="left" if header == "spec" else "right")
    for one in shown:
        cells = [one.spec, format_seconds(one.predicted)]
        if has_measured:
            cells.append(format_seconds(one.measured) if one.measured else "")
        cells.append(f"{100 * bound / (one.measured or one.predicted):.0f} %" if bound else "")
        cells += [_share(one.parts[part], one.predicted) for part in _PARTS]
        table.add_row(*cells, style="bold" if one.spec == in_force.spec else "")
    console = console_for(table)
    console.print(table)
    if explanation.fabric:
        claims = _table_of_claims(explanation.claims)
        console = console_for(claims)
        console.print(claims)
    lines = [f"in force (bold): {in_force.spec}, by {in_force.reason}"]
    if in_force.row:
        lines.append(f"the rule's row: {in_force.row} (all of it: stretto explain --rule)")
    if any(one.is_compared for one in explanation.claims):
        lines.append("a job's first calls compare it with the MPI default, and the fastest stays")
    if explanation.fabric:
        lines += [_network(explanation.fabric), *filter(None, [explanation.fabric.busy_text])]
    else:
        if explanation.modelled:
            lines.append(_modelled(explanation))
        lines.append("jobs also use what they have found out about their network: add --fabric latest")
    lines += explanation.inside
    lines += explanation.between
    if bound:
        lines.append(f"bound: the links need {format_seconds(bound)}, whatever the algorithm")
    lines.append(explanation.verdict)
    native = "; native: the best textbook algorithm" if explanation.has_library else ""
    lines.append(f"parts: what the predicted critical path consists of{native}")
    print_lines(console, lines, style="")


def _modelled(explanation: Explanation) -> str:
    specs = explanation.modelled
    if not explanation.has_library:
        return f"a job that measures such a network takes {specs[0]}"
    return f"a job that measures such a network compares these with the MPI default: {', '.join(specs)}"


def _network(fabric: FabricFile) -> str:
    known = fabric.fabric
    return f"network: {known.mpi}, hosts {known.hosts}, {fabric.speed_text} ({fabric.path})"


def _table_of_claims(claims: Sequence[Claim]) -> Table:
    """Whose choice the call is; the first line with a spec decides."""
    table = Table(title="whose choice it is in a job", title_justify="left")
    for header in ("choice", "spec", "why"):
        table.add_column(header)
    for one in claims:
        why = f"{one.reason}: {one.row}" if one.row else one.reason
        table.add_row(one.source, one.spec or "", why, style="bold" if one.decides else "")
    return table


def _share(part: float, whole: float) -> str:
    """A part in percent; empty if it rounds to nothing."""
    return f"{100 * part / whole:.0f} %" if whole > 0 and part > 0.005 * whole else ""
