# SPDX-License-Identifier: Apache-2.0
"""Reads the inputs of `stretto report`: any files that Stretto wrote, recognized by their content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from stretto.report.kinds import Kind, find_kind
from stretto.results import runs
from stretto.studies import file as study_file
from stretto.studies.file import Study, parse_bench, parse_study
from stretto.support.errors import StrettoError
from stretto.support.json_files import read_json
from stretto.support.parts import Bytes, Number, Part, Rate, Seconds, validate
from stretto.trace import profile_file, summary_file
from stretto.trace.profile_file import Profile
from stretto.trace.summary_file import TraceSummary, is_trace_folder, summary_of_folder


class TableRow(Part):
    """The spec for sizes from `bytes` on, up to the next row or to `to`."""

    bytes: Annotated[Bytes, Field(alias="from")]
    to: Bytes | None = None
    spec: str
    library: str = ""
    gain: Number | None = None


class Shape(Part):
    """The rows of a table for a number of nodes and of ranks per node."""

    nodes: Annotated[int, Field(ge=1)]
    ppn: Annotated[int, Field(ge=1)]
    """Ranks per node; on unequal nodes, the ranks on the fullest node."""
    min_ppn: int | None = None
    modelled: bool = False
    calls: dict[str, list[TableRow]]
    """Rows by call: allreduce, iallreduce, allreduce_init, …"""


@dataclass(frozen=True)
class TableFile:
    """A tuning table (docs/formats.md)."""

    mpi: str
    network: str
    shapes: list[Shape]


class _Table(Part):
    format: Literal["stretto-table"]
    version: Literal[1]
    mpi: str
    network: str = ""
    shapes: list[dict[str, Any]]


class Protocol(Part):
    """The cost of a message from `bytes` on: latency + bytes / bandwidth."""

    bytes: Annotated[Bytes, Field(alias="from")]
    latency: Annotated[Number, Field(ge=0)]
    bandwidth: Rate
    synchronous: bool = False

    def seconds(self, size: int) -> float:
        """Returns the seconds of a message of this size."""
        return self.latency + size / self.bandwidth


class Point(Part):
    """One case of a calibration: messages of one size between two ranks, with nothing else under way."""

    what: Literal["ping-pong"]
    level: str
    bytes: Bytes
    seconds: Annotated[list[list[Seconds]], Field(min_length=1)]
    """Seconds of each message, in a list for each pass over all cases."""

    @property
    def samples(self) -> list[float]:
        """Seconds of each message, of all passes."""
        return [second for part in self.seconds for second in part]


class _Notes(Part):
    points: Any = None
    remarks: list[str] = Field(default_factory=list)


class MachineFile(Part):
    """A machine (docs/formats.md), as far as a report shows it."""

    format: Literal["stretto-machine"]
    version: Literal[1]
    name: str
    description: str = ""
    levels: dict[Literal["socket", "node", "network"], Annotated[list[Protocol], Field(min_length=1)]]
    notes: _Notes = Field(default_factory=_Notes)

    def seconds(self, level: Literal["socket", "node", "network"], size: int) -> float:
        """Returns the seconds of a message according to the fit."""
        protocols = [one for one in self.levels[level] if one.bytes <= size]
        return (protocols or self.levels[level])[-1 if protocols else 0].seconds(size)


class Call(Part):
    """Calls of a run with the same collective, size class and spec."""

    collective: str
    bytes_from: Bytes
    bytes_below: Bytes
    spec: str
    calls: Annotated[int, Field(ge=0)]
    bytes: Bytes
    seconds: Annotated[Number, Field(ge=0)]


class StatisticsFile(Part):
    """A file of STRETTO_STATS (docs/variables.md)."""

    stretto: str
    library: str
    ranks: int
    nodes: int
    measured_on_rank: int
    calls: list[Call]


@dataclass(slots=True)
class Inputs:
    """All that was read, by kind."""

    studies: list[Study] = field(default_factory=list)
    tables: list[TableFile] = field(default_factory=list)
    machines: list[tuple[MachineFile, list[Point]]] = field(default_factory=list)
    statistics: list[tuple[str, StatisticsFile]] = field(default_factory=list)
    profiles: list[tuple[str, Profile]] = field(default_factory=list)
    traces: list[tuple[str, TraceSummary]] = field(default_factory=list)
    others: dict[str, tuple[Kind, list[Any]]] = field(default_factory=dict)
    """What was read of the kinds that other distributions add, by kind."""
    files: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """A line for each of Stretto's files that a report does not show."""


def read_inputs(paths: Sequence[Path]) -> Inputs:
    """Reads files, and in folders the files of a study or the traces of ranks.

    Raises StrettoError if a file was not written by Stretto.

    Stretto's files of other kinds are left out, unless there is nothing else.
    """
    inputs = Inputs()
    for path in paths:
        if path.is_dir() and is_trace_folder(path):
            inputs.traces.append((path.name, summary_of_folder(path)))
            inputs.files.append(path.name)
            continue
        for file in _files_of(path):
            _read_into(inputs, file)
    if inputs.left_out and not inputs.files:
        raise StrettoError(f"{'; '.join(inputs.left_out)}: {_EXPECTED}")
    return inputs


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [path / name for name in _STUDY_FILES if (path / name).is_file()]
    if not found:
        raise StrettoError(f"{path} holds neither {' nor '.join(_STUDY_FILES)} nor traces of ranks")
    return found


def _read_into(inputs: Inputs, file: Path) -> None:
    content = read_json(file)
    kind = content.get("format")
    if kind == study_file.FORMAT:
        inputs.studies.append(parse_study(content, file))
    elif kind == "stretto-table":
        inputs.tables.append(_read_table(content, file))
    elif kind == "stretto-machine":
        machine = validate(MachineFile, content, file)
        inputs.machines.append((machine, _read_points(machine)))
    elif kind == runs.FORMAT:
        inputs.studies.append(parse_bench(content, file))
    elif kind is None and "calls" in content and "measured_on_rank" in content:
        inputs.statistics.append((file.name, validate(StatisticsFile, content, file)))
    elif kind == profile_file.FORMAT:
        inputs.profiles.append((file.name, validate(Profile, content, file)))
    elif kind == summary_file.FORMAT:
        inputs.traces.append((file.name, validate(TraceSummary, content, file)))
    elif kind is None and "traceEvents" in content:
        raise StrettoError(f"{file} holds events for a viewer: give the folder of the ranks' traces")
    elif isinstance(content.get("unserved"), str):
        inputs.left_out.append(f"{file} is of a job without Stretto ({content['unserved']})")
        return
    elif isinstance(kind, str) and re.fullmatch(r"stretto-[a-z-]{1,40}", kind):
        if added := find_kind(kind):
            inputs.others.setdefault(kind, (added, []))[1].append(added.read(content, file))
            inputs.files.append(file.name)
            return
        inputs.left_out.append(f"{file} is of the kind {kind}, which a report does not show")
        return
    else:
        raise StrettoError(f"{file}: {_EXPECTED}")
    inputs.files.append(file.name)


_EXPECTED = (
    "expected a study, a file of stretto bench, a table, a machine, a profile, a trace or a statistics file"
)
_STUDY_FILES = (study_file.STUDY_FILE, "guidelines.json")
"""The files in the folder of `stretto study`."""
_SHAPE_KEYS = ("nodes", "ppn", "min_ppn", "modelled")


def _read_table(content: dict[str, Any], file: Path) -> TableFile:
    found = validate(_Table, content, file)
    shapes = []
    for shape in found.shapes:
        calls = {name: rows for name, rows in shape.items() if name not in _SHAPE_KEYS}
        known = {name: shape[name] for name in _SHAPE_KEYS if name in shape}
        shapes.append(validate(Shape, known | {"calls": calls}, file))
    return TableFile(found.mpi, found.network, shapes)


def _read_points(machine: MachineFile) -> list[Point]:
    """Returns the measured messages.

    The measured messages are in the notes, which may hold anything. Entries of another form are skipped.
    """
    points = machine.notes.points
    found = []
    for one in points if isinstance(points, list) else []:
        try:
            point = Point.model_validate(one)
        except ValueError:
            continue
        if point.samples:
            found.append(point)
    return found
