# SPDX-License-Identifier: Apache-2.0
"""Copies between device and host memory, as options describe them."""

from __future__ import annotations

from stretto._core import Machine
from stretto.support.errors import StrettoError
from stretto.support.units import parse_bytes, parse_rate, parse_seconds

OF_MACHINE = "machine"
"""The value of the option that keeps the rates of the machine file."""
USUAL_LATENCY = 10e-6
"""Seconds of a copy besides its bytes, unless the option gives them (estimated, not measured)."""
_EXAMPLE = f"to_host=12GB/s,to_device=12GB/s,latency=10us, or {OF_MACHINE}"


def with_copies(machine: Machine, text: str) -> Machine:
    """The machine with the copies of `--device`: `to_host=12GB/s,to_device=12GB/s,latency=10us`.

    `to_device` equals `to_host` unless it is given. `machine` keeps the copies of the machine file. Raises
    StrettoError if the text cannot be read, or the file has none.
    """
    if text == OF_MACHINE:
        if not machine.has_device:
            raise StrettoError(f"--device {text}: the machine file has no device; expected {_EXAMPLE}")
        return machine
    values: dict[str, float] = {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if key not in ("to_host", "to_device", "latency") or not equals or key in values:
            raise StrettoError(f"--device {text}: expected {_EXAMPLE}")
        try:
            values[key] = parse_seconds(value) if key == "latency" else _parse_bandwidth(value)
        except StrettoError as error:
            raise StrettoError(f"--device {text}: {error}") from None
    if "to_host" not in values:
        raise StrettoError(f"--device {text}: expected {_EXAMPLE}")
    to_host = values["to_host"]
    return machine.with_device(
        to_host, values.get("to_device", to_host), values.get("latency", USUAL_LATENCY)
    )


def _parse_bandwidth(text: str) -> float:
    """The bytes per second of `12GB/s`, or of a link rate: `100gbit`."""
    bandwidth = parse_bytes(text.removesuffix("/s")) if text.endswith("/s") else parse_rate(text)
    if bandwidth <= 0:
        raise StrettoError(f"{text!r} is not a bandwidth")
    return bandwidth
