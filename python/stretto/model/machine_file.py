# SPDX-License-Identifier: Apache-2.0
"""Machine files (docs/formats.md): their figures, and how they are read and written.

All figures are in seconds and bytes per second. The models read machine files in C++, which also checks
them; this module is for code that makes machine files.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from stretto import _core
from stretto.support.errors import StrettoError
from stretto.support.units import parse_bytes, size_text

LEVELS = ("socket", "node", "network")
"""Distances of two ranks, the nearest first."""
LIMITS = ("node", "memory", "fabric")
"""Resources that messages of several ranks share."""
DISTANCES = ("cache", "socket", "node")
"""Distances of two cores of a node: with one last-level cache, on one socket, on two."""
_FORMAT = "stretto-machine"
_VERSION = 1
_WIDTH = 118
_DIGITS = 4
_MOST_DIGITS = 9
"""Most digits of a number in scientific notation."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """Cost of messages of `begin` bytes and more between two ranks, when nothing else is in flight."""

    begin: int
    latency: float
    bandwidth: float
    synchronous: bool = False
    """Whether the transfer begins only when the receive is posted (rendezvous)."""
    duplex: float = 1.0
    """Overlap if a rank sends to one rank and receives from another: 1 is full, 0 is none."""
    exchange: float = 1.0
    """Overlap if two ranks send to each other."""
    core: float | None = None
    """Bytes per second that a core passes when it sends or receives; it does nothing else meanwhile."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit of a shared resource; None means no limit."""

    bandwidth: float | None = None
    message_rate: float | None = None
    """Messages per second."""
    burst: int = 0
    """Bytes that an idle link passes at the speed of the level before the limit applies."""
    begin: int = 0
    """For memory: shorter vectors stay in the caches, and are not limited."""


@dataclass(frozen=True, slots=True)
class ReductionRate:
    """Bytes of an operand reduced per second, for vectors of `begin` bytes and more."""

    begin: int
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Lines:
    """Cost of the cache lines that pass between two cores at some distance."""

    latency: float
    bandwidth: float | None = None
    """Bytes per second of a core that reads what another one has written; None means no limit."""


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """Cost of the engine's messages through the shared memory of a node, piece by piece at each end."""

    latency: float
    piece: float
    """Seconds of a core for a piece, at each of its ends."""
    write: list[ReductionRate]
    """Bytes per second that a core copies into its store, by the bytes of the whole vector."""
    read: list[ReductionRate]
    """Bytes per second that a core copies from another one's store."""
    reduce: list[ReductionRate]
    """Bytes per second that a core reduces straight from another one's store."""
    lines: dict[str, Lines] = field(default_factory=dict)
    """Cost of lines by distance; a missing distance has `latency` and no limit."""
    line: float | None = None
    """Seconds of a core for a message that fits into a line, and for each further reader of a publication.

    None means the seconds of a piece.
    """


@dataclass(frozen=True, slots=True)
class Device:
    """Copies between the memory of a rank's device and host memory."""

    to_host: float
    """Bytes per second."""
    to_device: float
    """Bytes per second."""
    latency: float = 0.0
    """Seconds of each copy besides its bytes."""


@dataclass(frozen=True, slots=True)
class MachineFile:
    """The figures of a cluster that the models use."""

    name: str
    levels: dict[str, list[Protocol]]
    """Protocols by level, at least one. Each list ascends by `begin`, from 0 on."""
    description: str = ""
    limits: dict[str, Limit] = field(default_factory=dict)
    reduction: list[ReductionRate] = field(default_factory=list)
    engine_message: float = 0.0
    engine_round: float = 0.0
    shared: SharedMemory | None = None
    """None if the MPI library carries messages inside a node."""
    notes: dict[str, Any] = field(default_factory=dict)
    device: Device | None = None
    """None if copies of device memory take no time."""

    def level(self, name: str) -> list[Protocol]:
        """The protocols of a level; if it is missing, those of the next higher level, else of a lower one."""
        at = LEVELS.index(name)
        for other in (*LEVELS[at:], *reversed(LEVELS[:at])):
            if self.levels.get(other):
                return self.levels[other]
        raise ValueError("a machine without any level")

    def limit(self, name: str) -> Limit:
        """The limit of that name; a missing one limits nothing."""
        return self.limits.get(name, Limit())


def protocol_for(protocols: list[Protocol], size: int) -> Protocol:
    """The protocol of messages of this size."""
    return [one for one in protocols if one.begin <= size][-1]


def reduction_bandwidth(machine: MachineFile, size: int) -> float:
    """Bytes of an operand reduced per second, for vectors of this size; infinite if unknown."""
    return rate_for(machine.reduction, size)


def rate_for(rates: list[ReductionRate], size: int) -> float:
    """Bytes per second for vectors of this size; infinite if unknown."""
    found = [one.bandwidth for one in rates if one.begin <= size]
    return found[-1] if found else math.inf


def file_text(machine: MachineFile) -> str:
    """The text of a machine file: one line per row of figures, rounded to significant digits."""
    return layout(_to_json(machine)) + "\n"


def _to_json(machine: MachineFile) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "name": machine.name,
        "description": machine.description,
        "levels": {
            name: [_protocol_json(one) for one in machine.levels[name]]
            for name in LEVELS
            if machine.levels.get(name)
        },
        "limits": {name: _limit_json(machine.limits[name]) for name in LIMITS if name in machine.limits},
        **({"reduction": _rates_json(machine.reduction)} if machine.reduction else {}),
        **({"shared": _shared_json(machine.shared)} if machine.shared else {}),
        "engine": {"message": _rounded(machine.engine_message), "round": _rounded(machine.engine_round)},
        **({"device": _device_json(machine.device)} if machine.device else {}),
        "notes": machine.notes,
    }


def _protocol_json(protocol: Protocol) -> dict[str, Any]:
    row: dict[str, Any] = {
        "from": size_text(protocol.begin),
        "latency": _rounded(protocol.latency),
        "bandwidth": _rounded(protocol.bandwidth),
    }
    if protocol.synchronous:
        row["synchronous"] = True
    for name, value in (("duplex", protocol.duplex), ("exchange", protocol.exchange)):
        if value < 1:
            row[name] = round(value, 3)
    if protocol.core is not None:
        row["core"] = _rounded(protocol.core)
    return row


def _limit_json(limit: Limit) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if limit.bandwidth is not None:
        row["bandwidth"] = _rounded(limit.bandwidth)
    if limit.message_rate is not None:
        row["message_rate"] = _rounded(limit.message_rate)
    if limit.burst:
        row["burst"] = size_text(limit.burst)
    if limit.begin:
        row["from"] = size_text(limit.begin)
    return row


def _rates_json(rates: list[ReductionRate]) -> list[dict[str, Any]]:
    return [{"from": size_text(one.begin), "bandwidth": _rounded(one.bandwidth)} for one in rates]


def _shared_json(shared: SharedMemory) -> dict[str, Any]:
    return {
        "latency": _rounded(shared.latency),
        "piece": _rounded(shared.piece),
        **({} if shared.line is None else {"line": _rounded(shared.line)}),
        "write": _rates_json(shared.write),
        "read": _rates_json(shared.read),
        "reduce": _rates_json(shared.reduce),
        **({"lines": _lines_json(shared.lines)} if shared.lines else {}),
    }


def _lines_json(lines: dict[str, Lines]) -> dict[str, Any]:
    rows = {}
    for distance in DISTANCES:
        if one := lines.get(distance):
            limit = {} if one.bandwidth is None else {"bandwidth": _rounded(one.bandwidth)}
            rows[distance] = {"latency": _rounded(one.latency), **limit}
    return rows


def _device_json(device: Device) -> dict[str, Any]:
    return {
        "latency": _rounded(device.latency),
        "to_host": _rounded(device.to_host),
        "to_device": _rounded(device.to_device),
    }


def _rounded(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")


def layout(value: Any, indent: int = 0) -> str:
    """JSON as in docs/formats.md: one line for a value that fits; numbers and short entries share lines."""
    line = _inline(value)
    if not isinstance(value, dict | list) or not value:
        return line
    parts = list(value.values() if isinstance(value, dict) else value)
    is_nested = any(isinstance(one, dict | list) for one in parts)
    if indent > 0 and not is_nested and indent + len(line) <= _WIDTH:
        return line
    texts = [layout(one, indent + 2) for one in parts]
    if isinstance(value, dict):
        texts = [
            f"{json.dumps(key, ensure_ascii=False)}: {text}" for key, text in zip(value, texts, strict=True)
        ]
    if indent > 0:
        texts = _filled(texts, _WIDTH - indent - 2)
    inner = " " * (indent + 2)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(texts) + f"\n{' ' * indent}{closing}"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_inline(key)}: {_inline(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, float) and value != 0 and not 1e-3 <= abs(value) < 1e6:
        digits, exponent = f"{value:.{_MOST_DIGITS}e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    return json.dumps(value, ensure_ascii=False)


def _filled(texts: list[str], width: int) -> list[str]:
    """Join numbers and short entries to lines of this width; entries of several lines share none."""
    lines: list[str] = []
    for text in texts:
        is_short = text[-1] not in "}]" or text == "[]"
        room = lines and lines[-1][-1] not in "}]" and len(lines[-1]) + 2 + len(text) < width
        if is_short and room:
            lines[-1] += f", {text}"
        else:
            lines.append(text)
    return lines


def read_machine_file(text: str) -> MachineFile:
    """Read the text of a machine file. Raises StrettoError that says what is wrong."""
    try:
        _core.Machine(text)
    except ValueError as error:
        raise StrettoError(str(error)) from None
    file = json.loads(text)
    engine = file.get("engine", {})
    return MachineFile(
        name=file["name"],
        description=file.get("description", ""),
        levels={name: [_read_protocol(row) for row in rows] for name, rows in file["levels"].items()},
        limits={name: _read_limit(row) for name, row in file.get("limits", {}).items()},
        reduction=_read_rates(file.get("reduction", [])),
        engine_message=engine.get("message", 0.0),
        engine_round=engine.get("round", 0.0),
        shared=_read_shared(file["shared"]) if "shared" in file else None,
        notes=file.get("notes", {}),
        device=_read_device(file["device"]) if "device" in file else None,
    )


def _read_rates(rows: list[dict[str, Any]]) -> list[ReductionRate]:
    return [ReductionRate(_read_size(row["from"]), row["bandwidth"]) for row in rows]


def _read_shared(row: dict[str, Any]) -> SharedMemory:
    write, read, reduce = (_read_rates(row[name]) for name in ("write", "read", "reduce"))
    lines = row.get("lines", {}).items()
    by_distance = {name: Lines(one["latency"], one.get("bandwidth")) for name, one in lines}
    return SharedMemory(row["latency"], row["piece"], write, read, reduce, by_distance, row.get("line"))


def _read_device(row: dict[str, Any]) -> Device:
    return Device(row["to_host"], row["to_device"], row.get("latency", 0.0))


def _read_protocol(row: dict[str, Any]) -> Protocol:
    return Protocol(
        _read_size(row["from"]),
        row["latency"],
        row["bandwidth"],
        row.get("synchronous", False),
        row.get("duplex", 1.0),
        row.get("exchange", 1.0),
        row.get("core"),
    )


def _read_limit(row: dict[str, Any]) -> Limit:
    sizes = [_read_size(row.get(name, 0)) for name in ("burst", "from")]
    return Limit(row.get("bandwidth"), row.get("message_rate"), *sizes)


def _read_size(value: int | str) -> int:
    return parse_bytes(value) if isinstance(value, str) else value
