# SPDX-License-Identifier: Apache-2.0
"""Lists the fabric files, shows one, and deletes them, for `stretto fabric`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stretto import _core
from stretto.model.fabric_file import (
    LATEST,
    NOTHING_KEPT,
    NOTHING_KNOWN,
    FabricFile,
    fabric_folder,
    fabric_paths,
    find_fabric_path,
    read_fabric,
)
from stretto.support.console import print_lines
from stretto.support.errors import StrettoError
from stretto.support.json_files import document_text
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bandwidth, format_bytes, format_nodes, format_seconds, three_digits

ALL = "all"
"""The name that stands for all files that jobs in this environment may use."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A fabric file in the list: its content, or why it cannot be read."""

    path: Path
    known: FabricFile | None
    error: str = ""


def list_entries(environment: Mapping[str, str]) -> list[Entry]:
    """All fabric files that jobs in this environment may use, the one that was written last first."""
    return [_read(path) for path in reversed(fabric_paths(environment))]


def _read(path: Path) -> Entry:
    try:
        return Entry(path, read_fabric(path))
    except StrettoError as error:
        return Entry(path, None, str(error).removeprefix(f"{path}: "))


def print_entries(entries: Sequence[Entry], environment: Mapping[str, str]) -> None:
    """Print the files as a table."""
    if not entries:
        print_lines([nothing_text(environment)], style="")
        return
    columns = [
        Column[Entry]("file", lambda one: one.path.stem, left=True, is_key=True),
        Column[Entry]("MPI", lambda one: one.known.fabric.mpi if one.known else "", left=True),
        Column[Entry]("hosts", lambda one: one.known.fabric.hosts if one.known else "", left=True),
        Column[Entry]("measured", lambda one: _measured(one.known), left=True),
        Column[Entry]("latency", lambda one: _latency(one.known)),
        Column[Entry]("MB/s", lambda one: _bandwidth(one.known)),
        Column[Entry]("decisions", lambda one: str(len(one.known.fabric.decisions)) if one.known else ""),
        Column[Entry]("remark", _remark, left=True, wraps=True),
    ]
    ResultTable(columns, entries).print()
    print_lines([f"in {entries[0].path.parent}; stretto fabric show FILE has more of one"])


def nothing_text(environment: Mapping[str, str]) -> str:
    """A line that says that there is no fabric file, and where it would be."""
    if environment.get("STRETTO_FABRIC") == "none":
        return NOTHING_KEPT
    where = environment.get("STRETTO_FABRIC") or fabric_folder(environment) or "HOME, which is not set"
    return f"no job has kept findings in {where}; {NOTHING_KNOWN}"


def _measured(known: FabricFile | None) -> str:
    measured = known.fabric.measured if known else None
    if measured is None:
        return "not yet" if known else ""
    where = "one node" if measured.nodes < 2 else format_nodes(measured.nodes)
    return ", ".join(filter(None, [measured.when, where]))


def _latency(known: FabricFile | None) -> str:
    return format_seconds(known.link.latency) if known and known.link else ""


def _bandwidth(known: FabricFile | None) -> str:
    return format_bandwidth(known.link.bandwidth) if known and known.link else ""


def _remark(entry: Entry) -> str:
    if entry.known is None:
        return f"{entry.error}; jobs ignore this file and replace it"
    measured = entry.known.fabric.measured
    return "measured on a busy machine" if measured is not None and measured.is_busy else ""


def entries_json(entries: Sequence[Entry]) -> str:
    """The document of all files (docs/formats.md)."""
    fabrics = [
        {"file": str(one.path), "error": one.error or None, **_about(one.known)}
        | {"decisions": len(one.known.fabric.decisions) if one.known else None}
        for one in entries
    ]
    return document_text("stretto-fabrics", sys.argv, None, {"fabrics": fabrics})


def _about(known: FabricFile | None) -> dict[str, Any]:
    if known is None:
        return dict.fromkeys(("mpi", "hosts", "processor", "network", "measured"))
    fabric, measured, link = known.fabric, known.fabric.measured, known.link
    return {
        "mpi": fabric.mpi,
        "hosts": fabric.hosts,
        "processor": fabric.processor,
        "network": fabric.network,
        "measured": None
        if measured is None
        else {
            "when": measured.when or None,
            "nodes": measured.nodes,
            "ppn": measured.ppn,
            "latency": link.latency if link else None,
            "bandwidth": link.bandwidth if link else None,
            "busy": measured.busy,
            "rates": measured.rates,
            "connections_from": measured.connections_from or None,
            "streams": measured.streams,
        },
    }


def print_fabric(known: FabricFile) -> None:
    """Print what jobs have found out about the network, and their decisions as a table."""
    fabric = known.fabric
    lines = [
        str(known.path),
        f"{fabric.mpi}, hosts {fabric.hosts}, {fabric.processor}",
        *([f"settings of the network: {fabric.network}"] if fabric.network else []),
        known.speed_text,
        *filter(None, [known.connections_text, known.busy_text, known.slow_links_text]),
    ]
    print_lines(lines, style="")
    decisions = _sorted(fabric.decisions)
    if not decisions:
        print_lines(["no duel has been decided yet"])
        return
    columns = [
        Column[_core.Decision]("collective", lambda one: one.call, left=True, is_key=True),
        Column[_core.Decision]("nodes", lambda one: str(one.nodes)),
        Column[_core.Decision]("ppn", _ppn),
        Column[_core.Decision]("sizes", _sizes),
        Column[_core.Decision]("", lambda one: "in place" if one.in_place else "", left=True),
        Column[_core.Decision]("spec", _spec, left=True, is_key=True),
        Column[_core.Decision]("gain", lambda one: three_digits(one.gain) if one.gain else ""),
        Column[_core.Decision](
            "a call took", lambda one: format_seconds(one.seconds) if one.seconds else "", detail=1
        ),
        Column[_core.Decision]("date", lambda one: one.when, left=True),
        Column[_core.Decision]("machine", lambda one: "busy" if one.is_busy else "", left=True, detail=1),
    ]
    ResultTable(columns, decisions, section=lambda one: (one.call, one.nodes, one.min_ppn, one.ppn)).print()
    print_lines(["gain: times as fast as the MPI default, where that was measured"])
    if any(one.is_dropped for one in decisions):
        print_lines(["dropped: a later job found that calls take many times as long, and does not use it"])


def _sorted(decisions: Sequence[_core.Decision]) -> list[_core.Decision]:
    return sorted(
        decisions, key=lambda one: (one.call, one.nodes, one.ppn, one.min_ppn, one.begin, one.in_place)
    )


def _ppn(one: _core.Decision) -> str:
    return str(one.ppn) if one.min_ppn == one.ppn else f"{one.min_ppn} to {one.ppn}"


def _spec(one: _core.Decision) -> str:
    return f"{one.spec} (dropped)" if one.is_dropped else one.spec


def _sizes(one: _core.Decision) -> str:
    return f"{format_bytes(one.begin)} to {format_bytes(2 * one.begin)}"


def fabric_json(known: FabricFile) -> str:
    """The document of one file (docs/formats.md)."""
    decisions = [
        {
            "call": one.call,
            "nodes": one.nodes,
            "ppn": one.ppn,
            "min_ppn": one.min_ppn,
            "in_place": one.in_place,
            "bytes_from": one.begin,
            "bytes_below": 2 * one.begin,
            "spec": one.spec,
            "gain": one.gain,
            "seconds": one.seconds,
            "bytes": one.bytes if one.seconds else None,
            "when": one.when or None,
            "busy": one.is_busy,
            "dropped": one.is_dropped,
        }
        for one in _sorted(known.fabric.decisions)
    ]
    content = {"file": str(known.path), **_about(known), "decisions": decisions}
    return document_text("stretto-known-network", sys.argv, None, content)


def forget(name: str, environment: Mapping[str, str]) -> list[Path]:
    """Delete a fabric file, the latest one (`latest`), or all of them (`all`). Returns their paths."""
    known = fabric_paths(environment)
    if name == ALL:
        paths = known
    elif name == LATEST:
        paths = known[-1:]
    else:
        paths = [find_fabric_path(name, environment)]
        _check(paths[0], known)
    for path in paths:
        try:
            path.unlink()
        except OSError as error:
            raise StrettoError(f"{path} could not be deleted: {error.strerror}") from None
    return paths


def _check(path: Path, known: Sequence[Path]) -> None:
    """Raise StrettoError if this is no fabric file. Files where jobs keep theirs may be damaged."""
    if path.absolute() in [one.absolute() for one in known]:
        return
    try:
        read_fabric(path)
    except StrettoError as error:
        raise StrettoError(f"{error}; only fabric files are deleted") from None
