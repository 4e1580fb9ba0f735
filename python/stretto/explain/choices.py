# SPDX-License-Identifier: Apache-2.0
"""Finds which source decides the spec of a blocking, out-of-place call in a job (docs/choice.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from stretto import _core
from stretto.explain.rule import find_row
from stretto.launch.choices import forced_spec, online, variable_of, why_nothing_is_learnt
from stretto.model.fabric_file import FabricFile
from stretto.model.walker import Call
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError
from stretto.support.units import format_bytes, format_count, format_nodes, format_seconds

Source = Literal["forced", "table", "learnt", "modelled", "rule"]

_LEAST_LEARNED = 1024
"""The least bytes of a call between nodes that is learnt, as in src/interpose/session/floors.cpp."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of one source of choices on a call. The first claim with a spec decides."""

    source: Source
    spec: str | None
    reason: str
    decides: bool = False
    is_compared: bool = False
    """Whether it decides, but a job's first calls compare it with the MPI default, and the fastest stays."""
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


@dataclass(frozen=True, slots=True)
class Tuned:
    """The tuning table's entry for a call."""

    table: JobTable
    spec: str | None
    """None if the table does not cover the call."""
    reason: str


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


def look_up(call: Call, table: JobTable) -> Tuned:
    """Look a call up in a table."""
    path, content = table.path, table.content
    if content is None:
        return Tuned(table, None, "no table")
    topology = parse_topology(call.topology)
    shape = content.find_shape(topology.nodes, topology.max_ppn, topology.min_ppn)
    row = shape.find(call.collective, call.bytes) if shape else None
    if not shape or not row:
        return Tuned(table, None, f"{path} does not cover this call")
    how = "predicted" if shape.modelled else _how_measured(table.tunings, shape, call.collective)
    gain = f", {row.gain:.2f} times as fast as native" if row.gain else ""
    exact = (shape.nodes, shape.ppn) == (topology.nodes, topology.max_ppn)
    nearest = "" if exact else ", the nearest to this one"
    reason = (
        f"{path}: {format_nodes(shape.nodes)} with {format_count(shape.ppn, 'rank')}{nearest}, "
        f"from {format_bytes(row.begin)} {_until(row.last)}, {how}{gain}"
    )
    return Tuned(table, row.spec, reason)


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


def find_claims(call: Call, known: FabricFile, tuned: Tuned, environment: Mapping[str, str]) -> list[Claim]:
    """All claims on the call, in the order in which they count, with what is known about a fabric."""
    asked = _Asked(call, known, tuned, environment)
    claims = [asked.forced(), asked.tuned(), asked.learnt(), *asked.modelled(), asked.rule()]
    deciding = next(number for number, one in enumerate(claims) if one.spec is not None)
    found = claims[deciding]
    is_compared = found.source in ("table", "modelled", "rule") and found.spec != NATIVE
    is_compared = is_compared and known.has_library and not asked.why_not_measured()
    claims[deciding] = replace(found, decides=True, is_compared=is_compared)
    return claims


def find_modelled(call: Call, machine: _core.Machine, *, has_library: bool) -> list[tuple[str, float, int]]:
    """The specs that a job on such a network considers, each with the seconds and the bytes of a call.

    With an MPI library, these are the specs of the size class, to be compared with `native`. Without one, it
    is the best spec.
    """
    topology = parse_topology(call.topology)
    if not has_library:
        found = _core.find_fastest_without_library(call.collective, call.bytes, topology, machine)
        return [found] if found else []
    begin = _begin_of_class(call.bytes)
    fastest = _core.find_fastest(call.collective, begin, topology, machine)
    return [(spec, seconds, begin) for spec, seconds in fastest]


def _begin_of_class(size: int) -> int:
    """The least bytes of the size class."""
    return 1 << max(0, size.bit_length() - 1)


class _Asked:
    """A call on a fabric, in a job with this environment."""

    def __init__(self, call: Call, known: FabricFile, tuned: Tuned, environment: Mapping[str, str]) -> None:
        self._call = call
        self._fabric = known.fabric
        self._has_library = known.has_library
        self._tuned = tuned
        self._environment = environment
        self._topology = parse_topology(call.topology)
        self._online = online(environment)
        # A table of another MPI library is refused.
        self._table, self._remark = tuned.table.content, ""
        if self._table is not None:
            is_used, self._remark = self._table.fit(self._fabric.mpi)
            self._table = self._table if is_used else None
        self._is_reproducible = environment.get("STRETTO_REPRODUCIBLE") == "1" and _core.is_reduction(
            call.collective
        )
        self._shares_memory = environment.get("STRETTO_SHM") != "0"
        self._decision = self._fabric.find(call.collective, call.bytes, self._topology)
        self._is_disabled = environment.get("STRETTO_DISABLE") == "1"
        self._wanted = "" if self._is_disabled else forced_spec(call.collective, environment)
        self._claims = self._find_claims()

    def _find_claims(self) -> dict[str, _core.Claim]:
        """What a job finds, by sources."""
        try:
            claims = _core.all_claims(
                self._call.collective,
                self._call.bytes,
                self._topology,
                wanted=self._wanted or None,
                table=self._table,
                learnt=self._decision.spec if self._decision else None,
                is_reproducible=self._is_reproducible,
                shares_memory=self._shares_memory,
                has_library=self._has_library,
            )
        except ValueError as error:
            variable = variable_of(self._call.collective)
            raise StrettoError(f"{variable}={self._wanted}: {error}") from None
        return {claim.source: claim for claim in claims}

    @property
    def _begin(self) -> int:
        return _begin_of_class(self._call.bytes)

    @property
    def _class_text(self) -> str:
        return f"from {format_bytes(self._begin)}, below {format_bytes(2 * self._begin)}"

    def forced(self) -> Claim:
        variable, claim = variable_of(self._call.collective), self._claims["forced"]
        if self._is_disabled:
            return Claim("forced", NATIVE, "STRETTO_DISABLE=1")
        if claim.refusal:
            fails = (
                "; the call fails (STRETTO_STRICT)" if self._environment.get("STRETTO_STRICT") == "1" else ""
            )
            return Claim("forced", claim.spec, f"{variable}={self._wanted}, which {claim.refusal}{fails}")
        return Claim("forced", claim.spec, variable if claim.spec else f"{variable} forces none")

    def tuned(self) -> Claim:
        tuned, claim = self._tuned, self._claims["table"]
        if tuned.table.content is not None and self._table is None:
            return Claim("table", None, f"{tuned.table.path} {self._remark}")
        if claim.refusal:
            return Claim("table", None, f"{tuned.table.path}: {tuned.spec} {claim.refusal}")
        return Claim("table", claim.spec, tuned.reason)

    def learnt(self) -> Claim:
        if not self._has_library:
            return Claim("learnt", None, "without MPI there is no MPI default to compare calls with")
        why_not = self._why_not_at_all() or ("" if self._online.uses_decisions else self._online.setting)
        if why_not:
            return Claim("learnt", None, f"not used: {why_not}")
        decision, topology = self._decision, self._topology
        if decision is None or self._claims["learnt"].spec is None:
            other = self._fabric.find(self._call.collective, self._call.bytes, topology, in_place=True)
            more = f"; with MPI_IN_PLACE: {other.spec}" if other else ""
            ranks = format_count(topology.max_ppn, "rank")
            where = f"{format_nodes(topology.nodes)} with {ranks}, {self._class_text}"
            return Claim("learnt", None, f"no duel was decided for {where}{more}")
        when = f" of {decision.when}" if decision.when else ""
        gain = f", {decision.gain:.2f} times as fast as the MPI default" if decision.gain else ""
        busy = " on a busy machine" if decision.is_busy else ""
        took = (
            f", {format_seconds(decision.seconds)} for {format_bytes(decision.bytes)}"
            if decision.seconds
            else ""
        )
        return Claim(
            "learnt",
            decision.spec,
            f"a duel{when}{busy}, {self._class_text}{gain}{took}",
            seconds=decision.seconds,
            gain=decision.gain,
            when=decision.when or None,
            is_busy=decision.is_busy,
        )

    def modelled(self) -> Iterator[Claim]:
        measured = self._fabric.measured
        why_not = self.why_not_measured()
        if why_not:
            yield Claim("modelled", None, f"not used: {why_not}")
        elif measured is None or (self._topology.nodes > 1 and measured.nodes < 2):
            where = " between nodes" if measured else ""
            yield Claim("modelled", None, f"no job has measured this network{where}; larger calls do")
        else:
            fastest = find_modelled(self._call, measured.machine, has_library=self._has_library)
            busy = ", measured on a busy machine" if measured.is_busy else ""
            if not fastest:
                yield Claim("modelled", None, "not used: without MPI, only for calls that are frequent")
            for spec, seconds, size in fastest:
                predicted = f"{format_seconds(seconds)} for {format_bytes(size)}"
                reason = f"the network's model{busy}: {predicted}"
                yield Claim(
                    "modelled", spec, reason,
                    seconds=seconds, when=measured.when or None, is_busy=measured.is_busy,
                )  # fmt: skip

    def rule(self) -> Claim:
        row = find_row(
            self._call,
            self._topology,
            shares_memory=self._shares_memory,
            has_library=self._has_library,
            is_reproducible=self._is_reproducible,
        )
        return Claim("rule", self._claims["rule"].spec, "the built-in rule", row=row)

    def why_not_measured(self) -> str:
        """Why such calls are neither measured nor compared; empty if they are."""
        return self._why_not_at_all() or ("" if self._online.measures else self._online.setting)

    def _why_not_at_all(self) -> str:
        """Why findings about the network do not count for this call; empty if they do."""
        variable = why_nothing_is_learnt(self._environment)
        if not self._has_library:
            # This is how model_calls() in dispatch/modelled_calls.cpp decides.
            return variable or ("" if self._topology.nodes > 1 else "there is one node")
        least = self._least_learned()
        if variable or self._call.bytes >= least:
            return variable
        if self._claims["rule"].spec != NATIVE:
            return f"calls below {format_bytes(least)} have a race with the MPI library instead"
        return f"calls below {format_bytes(least)} go to the MPI library at once"

    def _least_learned(self) -> int:
        """The least bytes of a call that is learnt, as in src/interpose/session/floors.cpp."""
        name = self._call.collective
        floors = [_core.learning_floor(name, self._topology.max_ppn)]
        if self._table is not None:
            floors.append(self._table.native_floor(name))
        if self._topology.nodes > 1:
            floors.append(_LEAST_LEARNED)
        return max(min(floors), 1)
