# SPDX-License-Identifier: Apache-2.0
"""Reads the trace files that the ranks of a job wrote, and merges them into one.

The files are Chrome trace events in object form; times are in microseconds.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from stretto.support.errors import StrettoError
from stretto.support.files import open_atomically
from stretto.trace.analysis import Call

_NAME = re.compile(r"rank-(0|[1-9][0-9]*)\.json")
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_NO_TIME = 1e18  # 30,000 years

_Kind = TypeVar("_Kind", int, float, str, list[Any], dict[str, Any])


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """An event as text that will be written, with its sort key."""

    key: tuple[float, float]
    """The begin and the negated duration, so that an event comes before the events inside it."""
    text: str


@dataclass(frozen=True, slots=True)
class RankTrace:
    """The trace of one rank."""

    path: Path
    rank: int
    ranks: int
    node: int
    clock: int
    """The lowest rank that reads the same clock."""
    clock_error: float
    about: dict[str, Any]
    """The content of `otherData`."""
    calls: list[Call]
    metadata: list[str]
    events: list[TimedEvent]


@dataclass(frozen=True, slots=True)
class TraceFolder:
    """The traces of a job."""

    path: Path
    ranks: int
    traces: list[RankTrace]
    missing: list[int]
    """Ranks without a file."""
    complaints: list[str]
    """A line for each file that cannot be used."""

    @property
    def clock_error(self) -> float:
        """The largest clock error in microseconds; 0 if all ranks read rank 0's clock."""
        return max(one.clock_error for one in self.traces)


class _UnusableError(Exception):
    """Says why a file cannot be used."""


def read_folder(folder: Path) -> TraceFolder:
    """Read all traces in a folder. Raises StrettoError if there are none, or if several jobs wrote them."""
    files = _find(folder)
    traces, complaints = [], []
    for rank, path in sorted(files.items()):
        try:
            traces.append(_read(path, rank))
        except _UnusableError as error:
            complaints.append(f"{path} {error}; rank {rank} is left out: run the job again to include it")
    if not traces:
        more = f" (and {len(complaints) - 1} more files)" if len(complaints) > 1 else ""
        raise StrettoError(f"{complaints[0]}{more}: no file is usable")
    _check_one_job(folder, traces)
    missing = [rank for rank in range(traces[0].ranks) if rank not in files]
    return TraceFolder(folder, traces[0].ranks, traces, missing, complaints)


def is_rank_file(path: Path, folder: Path) -> bool:
    """Whether the name is that of a rank's file in the folder."""
    return _NAME.fullmatch(path.name) is not None and path.absolute().parent == folder.absolute()


def _find(folder: Path) -> dict[int, Path]:
    try:
        names = {int(match[1]): path for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))}
    except OSError as error:
        raise StrettoError(
            f"{folder} cannot be read: {error.strerror}; give the folder that STRETTO_TRACE named"
        ) from None
    if not names:
        raise StrettoError(
            f"{folder} holds no rank-N.json: run the job with STRETTO_TRACE={folder}, "
            "and let it reach MPI_Finalize, which writes the files"
        )
    return names


def _check_one_job(folder: Path, traces: Sequence[RankTrace]) -> None:
    first = traces[0]
    for trace in traces:
        if trace.ranks != first.ranks:
            what = f"{first.path.name} is of a job of {first.ranks} ranks, {trace.path.name} of {trace.ranks}"
        elif trace.about.get("job") != first.about.get("job"):
            what = f"{first.path.name} and {trace.path.name} were written by two jobs"
        else:
            continue
        raise StrettoError(f"{folder} holds traces of different jobs: {what}; empty it and run the job again")


def _read(path: Path, rank: int) -> RankTrace:
    try:
        content = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except OSError as error:
        raise _UnusableError(f"cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise _UnusableError(
            f"is not complete JSON (line {error.lineno}, column {error.colno}): "
            "the job may have been killed, or the disk full, while it was written"
        ) from None
    except (ValueError, RecursionError):
        raise _UnusableError("is not JSON") from None
    try:
        return _interpret(path, rank, content)
    except _UnusableError as error:
        raise _UnusableError(f"is not a trace by Stretto: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _interpret(path: Path, rank: int, content: Any) -> RankTrace:
    about = _field(_check(content, dict, "the file"), "otherData", dict)
    named = _whole(about, "rank")
    if named != rank:
        raise _UnusableError(f"it is of rank {named}")
    ranks, node = _whole(about, "ranks"), _whole(about, "node")
    if rank >= ranks:
        raise _UnusableError(f"it is of rank {rank} of {ranks}")
    clock, error = _whole(about, "clock"), _number(about, "clock_error_us")
    trace = RankTrace(path, rank, ranks, node, clock, error, about, [], [], [])
    for event in _field(content, "traceEvents", list):
        _add_event(trace, _check(event, dict, "an event"))
    trace.events.sort(key=lambda event: event.key)
    seen = {(call.communicator, call.sequence) for call in trace.calls}
    if len(seen) < len(trace.calls):
        raise _UnusableError("two collectives have the same communicator and sequence")
    return trace


def _add_event(trace: RankTrace, event: dict[str, Any]) -> None:
    text = _ENCODER.encode(event)
    if event.get("ph") == "M":
        trace.metadata.append(text)
        return
    begin = _number(event, "ts", negative=True)
    duration = _number(event, "dur") if event.get("ph") == "X" else 0.0
    trace.events.append(TimedEvent((begin, -duration), text))
    if event.get("ph") == "X" and event.get("cat") == "collective":
        more = _field(event, "args", dict)
        trace.calls.append(
            Call(
                trace.rank,
                trace.clock,
                trace.clock_error,
                begin,
                begin + duration,
                _field(event, "name", str),
                _field(more, "spec", str),
                _field(more, "form", str),
                _whole(more, "bytes"),
                _field(more, "communicator", str),
                _whole(more, "ranks"),
                _whole(more, "sequence"),
            )
        )


def _check(value: Any, kind: type[_Kind], what: str) -> _Kind:
    # bool is a subclass of int.
    if not isinstance(value, kind) or isinstance(value, bool):
        names = {int: "a whole number", str: "a text", list: "a list", dict: "an object"}
        raise _UnusableError(f"{what} is not {names[kind]}")
    return value


def _field(where: dict[str, Any], key: str, kind: type[_Kind]) -> _Kind:
    if key not in where:
        raise _UnusableError(f"{key} is missing")
    return _check(where[key], kind, key)


def _whole(where: dict[str, Any], key: str) -> int:
    value = _field(where, key, int)
    if value < 0:
        raise _UnusableError(f"{key} is {value}")
    return value


def _number(where: dict[str, Any], key: str, *, negative: bool = False) -> float:
    value = where.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < _NO_TIME:
        raise _UnusableError(f"{key} is not a number" if key in where else f"{key} is missing")
    if value < 0 and not negative:
        raise _UnusableError(f"{key} is {value}")
    return float(value)


def write_merged(traces: Sequence[RankTrace], path: Path) -> int:
    """Write all events into one file, ordered by time. Returns their number, without metadata."""
    by_rank = sorted(traces, key=lambda trace: trace.rank)
    about = {
        "stretto": by_rank[0].about.get("stretto"),
        "ranks": by_rank[0].ranks,
        "traces": [trace.about for trace in by_rank],
    }
    with open_atomically(path) as file:
        head = f'{{"displayTimeUnit":"ms",\n"otherData":{_ENCODER.encode(about)},\n"traceEvents":['
        file.write(head.encode())
        separator = "\n"
        for text in _in_order(by_rank):
            file.write((separator + text).encode())
            separator = ",\n"
        file.write(b"\n]}\n")
    return sum(len(trace.events) for trace in traces)


def _in_order(by_rank: Sequence[RankTrace]) -> Iterator[str]:
    """Yields metadata, then all events by time; of simultaneous events the longest first, then by rank."""
    for trace in by_rank:
        yield from trace.metadata
    for event in heapq.merge(*(trace.events for trace in by_rank), key=lambda event: event.key):
        yield event.text
