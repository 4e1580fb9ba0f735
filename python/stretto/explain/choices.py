# SPDX-License-Identifier: Apache-2.0
"""Finds which source decides the spec of a blocking, out-of-place call in a job (docs/choice.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from stretto import _core
from stretto.explain.rule import row_text
from stretto.model.fabric_file import FabricFile
from stretto.model.walker import Call
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError
from stretto.support.units import format_bytes, format_count, format_nodes, format_seconds

Source = Literal["forced", "table", "learnt", "modelled", "rule"]


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of one source of choices on a call. The first claim with a spec decides."""

    source: Source
    spec: str | None
    reason: str
    decides: bool = False
    is_compared: bool = False
    """Whether it decides, but a job's first calls compare it, and the fastest stays."""
    seconds: float | None = None
    """The time of a call when a duel was decided, or by the model for the least bytes of the size class."""
    gain: float | None = None
    """How many times faster the spec is than the MPI default, by a duel."""
    when: str | None = None
    """The date of a duel, or of the measurement of the network."""
    is_busy: bool = False
    """Whether a job that had to share its cores decided the duel, or measured the network."""
    row: str | None = None
    """The row of the built-in rule."""


@dataclass(frozen=True, slots=True)
class JobTable:
    """The tuning table that a job finds."""

    path: str
    """Empty if there is none."""
    content: _core.Table | None = None
    tunings: Sequence[Any] = ()
    """What the table's notes say of the tunings that made it. Any program may have written them."""


NO_TABLE = JobTable("")


def read_job_table(table: Path | None, family: str) -> JobTable:
    """Read `table`, or the table that jobs of an MPI family find."""
    file = _core.read_table_file(str(table) if table else os.environ.get("STRETTO_TABLE", ""), family)
    if file.error:
        raise StrettoError(f"{file.path}: {file.error}")
    if not file.path:
        return NO_TABLE
    try:
        content = _core.read_table(file.text)
    except ValueError as error:
        raise StrettoError(f"{file.path}: {error}") from None
    notes = json.loads(file.text).get("notes")
    tunings = notes.get("tuning") if isinstance(notes, dict) else None
    return JobTable(file.path, content, tunings if isinstance(tunings, list) else ())


def _until(last: int | None) -> str:
    return "on" if last is None else f"to {format_bytes(last)}"


def _how_measured(tunings: Sequence[Any], shape: _core.TableShape, call: str) -> str:
    """How the table was measured, in words: its notes tell whether the machine was busy."""
    for one in tunings:
        if not isinstance(one, dict) or one.get("call") != call:
            continue
        load = one.get("load")
        same = (one.get("nodes"), one.get("ppn")) == (shape.nodes, shape.ppn)
        if same and isinstance(load, dict) and load.get("busy"):
            return "measured on a busy machine: tune again on an idle one"
    return "measured"


def find_claims(
    call: Call,
    table: JobTable,
    environment: Mapping[str, str],
    known: FabricFile | None = None,
    *,
    has_library: bool = True,
) -> list[Claim]:
    """All claims on a blocking call, out of place, in a job with this environment, in the order they count.

    Without MPI, the call does not block, and PyTorch's allreduce is in place.

    `known` is what jobs have found out about their network; without it, findings claim nothing.
    """
    content, remark = table.content, ""
    if content is not None and known is not None:
        is_used, remark = content.fit(known.fabric.mpi)
        content = content if is_used else None
    try:
        claims = _core.all_claims(
            call.collective,
            call.bytes,
            parse_topology(call.topology),
            dict(environment),
            content,
            known.fabric if known else None,
            has_library,
        )
    except ValueError as error:
        variable = _core.variable_of(call.collective)
        raise StrettoError(f"{variable}={environment.get(variable)}: {error}") from None
    texts = _Texts(call, known, has_library=has_library)
    return [texts.describe(claim, table, remark, environment) for claim in claims]


class _Texts:
    """Puts the claims on a call into words."""

    def __init__(self, call: Call, known: FabricFile | None, *, has_library: bool) -> None:
        self._call = call
        self._known = known
        self._has_library = has_library
        self._topology = parse_topology(call.topology)

    def describe(
        self, claim: _core.Claim, table: JobTable, remark: str, environment: Mapping[str, str]
    ) -> Claim:
        """The claim with its reason. `remark` is on a table that belongs to another MPI library."""
        match claim.source:
            case "forced":
                return self._forced(claim, environment)
            case "table":
                return self._table(claim, table, remark)
            case "learnt":
                return self._learnt(claim)
            case "modelled":
                return self._modelled(claim)
            case _:
                return replace(_made(claim, "the built-in rule"), row=row_text(claim.row))

    @property
    def _class_text(self) -> str:
        begin = 1 << max(0, self._call.bytes.bit_length() - 1)
        return f"from {format_bytes(begin)}, below {format_bytes(2 * begin)}"

    def _forced(self, claim: _core.Claim, environment: Mapping[str, str]) -> Claim:
        variable, settings = _core.variable_of(self._call.collective), _core.JobSettings(dict(environment))
        if settings.is_disabled:
            reason = "STRETTO_DISABLE=1"
        elif claim.refusal:
            fails = "; the call fails (STRETTO_STRICT)" if settings.is_strict else ""
            reason = f"{variable}={environment[variable]}, which {claim.refusal}{fails}"
        else:
            reason = variable if claim.spec else f"{variable} forces none"
        return _made(claim, reason)

    def _table(self, claim: _core.Claim, table: JobTable, remark: str) -> Claim:
        if table.content is None:
            reason = "no table"
        elif remark and claim.spec is None:
            reason = f"{table.path} {remark}"
        else:
            reason = self._describe_row(table.content, table) + (
                f": it {claim.refusal}" * bool(claim.refusal)
            )
        return _made(claim, reason)

    def _describe_row(self, content: _core.Table, table: JobTable) -> str:
        topology, call = self._topology, self._call
        shape = content.find_shape(topology.nodes, topology.max_ppn, topology.min_ppn)
        # Jobs without MPI have non-blocking calls only.
        name = call.collective if self._has_library else f"i{call.collective}"
        row = shape.find(name, call.bytes) if shape else None
        if not shape or not row:
            return f"{table.path} does not cover this call"
        how = "predicted" if shape.modelled else _how_measured(table.tunings, shape, call.collective)
        gain = f", {row.gain:.2f} times as fast as native" if row.gain else ""
        exact = (shape.nodes, shape.ppn) == (topology.nodes, topology.max_ppn)
        nearest = "" if exact else ", the nearest to this one"
        return (
            f"{table.path}: {format_nodes(shape.nodes)} with {format_count(shape.ppn, 'rank')}{nearest}, "
            f"from {format_bytes(row.begin)} {_until(row.last)}, {how}{gain}"
        )

    def _learnt(self, claim: _core.Claim) -> Claim:
        if claim.unused or self._known is None:
            return _made(claim, f"not used: {claim.unused}" if claim.unused else "no network is known")
        topology, fabric = self._topology, self._known.fabric
        in_place = _core.is_explained_in_place(self._call.collective, self._has_library)
        decision, other = (
            fabric.find(self._call.collective, self._call.bytes, topology, place, blocking=self._has_library)
            for place in (in_place, not in_place)
        )
        if decision is None:
            place = "out of place" if in_place else "with MPI_IN_PLACE"
            more = f"; {place}: {other.spec}" if other else ""
            ranks = format_count(topology.max_ppn, "rank")
            where = f"{format_nodes(topology.nodes)} with {ranks}, {self._class_text}"
            return _made(claim, f"no duel was decided for {where}{more}")
        if claim.spec is None:
            return _made(claim, f"a duel has found {decision.spec}, which {claim.refusal}")
        when = f" of {decision.when}" if decision.when else ""
        before = "the MPI default" if self._has_library else "the choice before"
        gain = f", {decision.gain:.2f} times as fast as {before}" if decision.gain else ""
        busy = " on a busy machine" if decision.is_busy else ""
        took = f", {_took(claim)}" if claim.seconds else ""
        made = _made(claim, f"a duel{when}{busy}, {self._class_text}{gain}{took}")
        return replace(made, gain=decision.gain, when=decision.when or None, is_busy=decision.is_busy)

    def _modelled(self, claim: _core.Claim) -> Claim:
        measured = self._known.fabric.measured if self._known else None
        if claim.unused:
            return _made(claim, f"not used: {claim.unused}")
        if measured is None or not measured.covers(self._topology.nodes, self._topology.max_ppn):
            where = " between nodes" if measured and self._topology.nodes > 1 else ""
            return _made(claim, f"no job has measured this network{where}; larger calls do")
        if claim.spec is None:
            return _made(claim, claim.refusal or "not used: without MPI, only for calls that are frequent")
        busy = ", measured on a busy machine" if measured.is_busy else ""
        made = _made(claim, f"the network's model{busy}: {_took(claim)}")
        return replace(made, when=measured.when or None, is_busy=measured.is_busy)


def _took(claim: _core.Claim) -> str:
    return f"{format_seconds(claim.seconds or 0)} for {format_bytes(claim.bytes)}"


def _made(claim: _core.Claim, reason: str) -> Claim:
    return Claim(
        cast("Source", claim.source),
        claim.spec,
        reason,
        claim.decides,
        claim.is_compared,
        seconds=claim.seconds,
    )
