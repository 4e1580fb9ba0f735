# SPDX-License-Identifier: Apache-2.0
"""A planned cluster as a machine for the models, from a few figures and usual values for the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from stretto._core import Machine
from stretto.model.walker import load_machine
from stretto.support.errors import StrettoError
from stretto.support.units import format_rate, format_seconds, parse_bytes, parse_rate, parse_seconds

USUAL_NETWORK = "100Gbit"
USUAL_LATENCY = "2us"
USUAL_NODE_LATENCY = "0.5us"
USUAL_NODE_BANDWIDTH = "8GB/s"
USUAL_REDUCTION = "10GB/s"
# 4096 message bytes are 4170 on the wire; congestion control takes some more (machines/ethernet100.json).
_PAYLOAD = 0.96
# The time that a core needs to send or receive a message, relative to the latency (machines/altec.json).
_ENGINE_MESSAGE = 1 / 7
_ENGINE_ROUND = 1e-7


@dataclass(frozen=True, slots=True)
class Figures:
    """The options that describe a cluster; None for those that were not given."""

    network: str | None = None
    latency: str | None = None
    node_latency: str | None = None
    node_bandwidth: str | None = None
    reduction: str | None = None

    def given(self) -> list[str]:
        """The options that were given."""
        return [
            f"--{name.replace('_', '-')}"
            for name in self.__dataclass_fields__
            if getattr(self, name) is not None
        ]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The machine, and a short description of its figures."""

    machine: Machine
    description: str


def cluster_of(figures: Figures, machine: str | None) -> Cluster:
    """The cluster with these figures, or the machine given by file or name in their place."""
    if machine is not None:
        if figures.given():
            raise StrettoError(
                f"--machine has all figures; leave out either --machine or {', '.join(figures.given())}"
            )
        known = load_machine(machine, nodes=2)
        return Cluster(known, f"{known.name}: {known.description}")
    rate = _read("--network", figures.network or USUAL_NETWORK, parse_rate)
    latency = _read("--latency", figures.latency or USUAL_LATENCY, parse_seconds)
    node_latency = _read("--node-latency", figures.node_latency or USUAL_NODE_LATENCY, parse_seconds)
    node_bandwidth = _read("--node-bandwidth", figures.node_bandwidth or USUAL_NODE_BANDWIDTH, parse_speed)
    reduction = _read("--reduction", figures.reduction or USUAL_REDUCTION, parse_speed)
    bandwidth = _PAYLOAD * rate
    overhead = _ENGINE_MESSAGE * latency
    name = f"{format_rate(rate)}, {format_seconds(latency)}"
    content = {
        "format": "stretto-machine",
        "version": 1,
        "name": name,
        "description": f"a planned cluster: links of {name}",
        "levels": {
            "node": [{"from": 0, "latency": node_latency, "bandwidth": node_bandwidth}],
            "network": [{"from": 0, "latency": latency, "bandwidth": bandwidth}],
        },
        "limits": {"node": {"bandwidth": bandwidth}},
        "reduction": [{"from": 0, "bandwidth": reduction}],
        "engine": {"message": overhead, "round": _ENGINE_ROUND},
        "notes": {},
    }
    description = (
        f"links of {format_rate(rate)} ({_gigabytes(bandwidth)} of messages) and {format_seconds(latency)}; "
        f"inside a node {_gigabytes(node_bandwidth)} and {format_seconds(node_latency)}; "
        f"reduction {_gigabytes(reduction)}; Stretto's engine {format_seconds(overhead)} a message"
    )
    return Cluster(Machine(json.dumps(content)), description)


def parse_speed(text: str) -> float:
    """Bytes per second of a bandwidth such as `8GB/s`, `12.5GiB/s` or `100Gbit`."""
    if re.search(r"bit\s*$", text, re.IGNORECASE):
        return parse_rate(text)
    try:
        speed = parse_bytes(re.sub(r"/s\s*$", "", text))
    except StrettoError:
        speed = 0
    if speed <= 0:
        raise StrettoError(f"{text!r} is not a bandwidth: expected one such as 8GB/s, 500MB/s or 100Gbit")
    return float(speed)


def _read(option: str, text: str, parse: Callable[[str], float]) -> float:
    try:
        return parse(text)
    except StrettoError as error:
        raise StrettoError(f"{option}: {error}") from None


def _gigabytes(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e9:.3g} GB/s"
