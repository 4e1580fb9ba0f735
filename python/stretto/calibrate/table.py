# SPDX-License-Identifier: Apache-2.0
"""Tables of a calibration's figures for the terminal."""

from __future__ import annotations

from itertools import pairwise

from rich.table import Table

from stretto.calibrate.fit import Fit
from stretto.calibrate.limits import LimitFit
from stretto.calibrate.protocols import ProtocolFit
from stretto.calibrate.reduction import RateFit
from stretto.support.robust import Figure
from stretto.support.units import format_bytes, format_seconds, seconds_unit, three_digits

_RATE_UNITS = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))
_LIMITS = {
    "node": "a node's link, each way",
    "memory": "messages inside a node",
    "fabric": "messages between nodes, all together",
}


def protocol_table(found: Fit) -> Table:
    """A row for each protocol of each level."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("level", "message", "protocol"):
        table.add_column(name, no_wrap=True)
    for name in ("latency", "bandwidth", "off by", "duplex", "exchange"):
        table.add_column(name, justify="right", no_wrap=True)
    for level, rows in found.levels.items():
        ends = [f"to {format_bytes(after.protocol.begin - 1)}" for _, after in pairwise(rows)]
        for index, (row, end) in enumerate(zip(rows, [*ends, "and more"], strict=True)):
            table.add_row(
                level if index == 0 else "",
                f"{format_bytes(row.protocol.begin)} {end}",
                "rendezvous" if row.protocol.synchronous else "eager",
                _seconds(Figure(row.protocol.latency, row.latency_error)),
                _bandwidth(row),
                f"{100 * row.residual:.1f} %",
                *(_direction(row, name) for name in ("duplex", "exchange")),
            )
    return table


def figure_table(found: Fit) -> Table:
    """A row for each of the other figures."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for name, limit in found.limits.items():
        table.add_row(f"limit: {name}", f"{_limit(limit)} ({_LIMITS[name]})")
    if found.reduction:
        table.add_row("reduction", _steps(found.reduction))
    if found.shared:
        shared = found.shared
        table.add_row(
            "shared memory",
            f"latency {_seconds(Figure(shared.latency, shared.latency_error))}, "
            f"{_seconds(Figure(shared.piece, shared.piece_error))} for an end of a piece",
        )
        for name, rates in (("write", shared.write), ("read", shared.read), ("reduce", shared.reduce)):
            table.add_row(f"  {name}", _steps(rates))
    if found.engine:
        engine = found.engine
        library = (
            f", {format_seconds(engine.library_message.value)} of it the library's"
            if engine.library_message
            else ""
        )
        table.add_row(
            "engine",
            f"{_seconds(engine.message)} for an end of a message{library}; "
            f"{_seconds(engine.round)} for a round; "
            f"calls are off by {100 * engine.residual:.0f} %",
        )
    return table


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
