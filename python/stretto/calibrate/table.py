# SPDX-License-Identifier: Apache-2.0
"""Tables of a calibration's figures for the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from stretto.calibrate.fit import Fit
from stretto.calibrate.limits import LimitFit
from stretto.calibrate.protocols import ProtocolFit
from stretto.calibrate.reduction import RateFit
from stretto.support.robust import Figure
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bytes, format_percent, format_seconds, seconds_unit, three_digits

_RATE_UNITS = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))
_LIMITS = {
    "node": "a node's link, each way",
    "memory": "messages inside a node",
    "fabric": "messages between nodes, all together",
}


@dataclass(frozen=True)
class _Row:
    """A protocol of a level."""

    level: str
    sizes: str
    fit: ProtocolFit


def protocol_table(found: Fit) -> ResultTable[_Row]:
    """A row for each protocol of each level."""
    rows = []
    for level, fits in found.levels.items():
        ends = [f"to {format_bytes(after.protocol.begin - 1)}" for _, after in pairwise(fits)]
        for fit, end in zip(fits, [*ends, "and more"], strict=True):
            rows.append(_Row(level, f"{format_bytes(fit.protocol.begin)} {end}", fit))
    return ResultTable(
        [
            Column("level", lambda row: row.level, left=True, is_key=True),
            Column("message", lambda row: row.sizes, left=True, is_key=True),
            Column("protocol", _protocol, left=True),
            Column("latency", lambda row: _seconds(Figure(row.fit.protocol.latency, row.fit.latency_error))),
            Column("bandwidth", lambda row: _bandwidth(row.fit)),
            Column("off by", lambda row: format_percent(row.fit.residual, 1), detail=1),
            Column("duplex", lambda row: _direction(row.fit, "duplex"), detail=2),
            Column("exchange", lambda row: _direction(row.fit, "exchange"), detail=2),
        ],
        rows,
        section=lambda row: row.level,
    )


def _protocol(row: _Row) -> str:
    return "rendezvous" if row.fit.protocol.synchronous else "eager"


def figure_table(found: Fit) -> ResultTable[tuple[str, str]]:
    """A row for each of the other figures."""
    rows = [(f"limit: {name}", f"{_limit(limit)} ({_LIMITS[name]})") for name, limit in found.limits.items()]
    if found.reduction:
        rows.append(("reduction", _steps(found.reduction)))
    if found.shared:
        shared = found.shared
        latency = _seconds(Figure(shared.latency, shared.latency_error))
        piece = _seconds(Figure(shared.piece, shared.piece_error))
        rows.append(("shared memory", f"latency {latency}, {piece} for an end of a piece"))
        steps = (("write", shared.write), ("read", shared.read), ("reduce", shared.reduce))
        rows += [(f"  {name}", _steps(rates)) for name, rates in steps]
    if found.engine:
        engine = found.engine
        library = (
            f", {format_seconds(engine.library_message.value)} of it the library's"
            if engine.library_message
            else ""
        )
        message, per_round = _seconds(engine.message), _seconds(engine.round)
        text = f"{message} for an end of a message{library}; {per_round} for a round"
        rows.append(("engine", f"{text}; calls are off by {format_percent(engine.residual)}"))
    return ResultTable(
        [
            Column("figure", lambda row: row[0], left=True, is_key=True),
            Column("value", lambda row: row[1], left=True, wraps=True, is_key=True),
        ],
        rows,
    )


def _steps(rates: list[RateFit]) -> str:
    return ", ".join(
        f"{_rate(step.rate.bandwidth, step.error)}"
        + (f" from {format_bytes(step.rate.begin)}" if step.rate.begin else "")
        for step in rates
    )


def _seconds(figure: Figure) -> str:
    factor, unit = seconds_unit(max(figure.value, figure.error, 1e-9))
    return f"{three_digits(figure.value / factor)} ± {three_digits(figure.error / factor)} {unit}"


def _bandwidth(row: ProtocolFit) -> str:
    # In messages that are dominated by latency, the bandwidth does not show.
    if row.bandwidth_error > row.protocol.bandwidth:
        return "does not show"
    return _rate(row.protocol.bandwidth, row.bandwidth_error)


def _direction(row: ProtocolFit, name: str) -> str:
    if name not in row.direction_errors:
        return ""
    return f"{getattr(row.protocol, name):.2f} ± {row.direction_errors[name]:.2f}"


def _rate(bandwidth: float, error: float) -> str:
    factor, unit = next((one for one in _RATE_UNITS if bandwidth >= one[0]), (1.0, "B/s"))
    return f"{three_digits(bandwidth / factor)} ± {three_digits(error / factor)} {unit}"


def _limit(found: LimitFit) -> str:
    limit, errors = found.limit, found.errors
    parts = []
    if limit.bandwidth is not None:
        parts.append(_rate(limit.bandwidth, errors["bandwidth"]))
    if limit.message_rate is not None:
        rate, error = limit.message_rate / 1e3, errors["message_rate"] / 1e3
        parts.append(f"{three_digits(rate)} ± {three_digits(error)} thousand messages/s")
    if limit.burst:
        parts.append(f"a burst of {limit.burst / 1024:.0f} ± {errors['burst'] / 1024:.0f} KiB")
    if parts:
        return ", ".join(parts)
    most = max((max(curve.counts) for curve in found.curves), default=1)
    return "none that shows" + (f" with up to {most} at once" if most > 1 else " with one at a time")
