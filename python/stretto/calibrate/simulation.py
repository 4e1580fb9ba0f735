# SPDX-License-Identifier: Apache-2.0
"""Simulates the points of a calibration from a known machine, with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stretto import _core
from stretto.calibrate.engine import count_work
from stretto.calibrate.points import Measured, NodeLoad
from stretto.model.machine_file import LEVELS, MachineFile, file_text, protocol_for, reduction_bandwidth
from stretto.model.walker import Call, Model

_LARGE = 1 << 20
_TINY = 8
_TRAIN = 64
_WINDOW = 2
_LONGEST = 64 << 20
_PASSES = 2


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of the simulated cluster, and the noise of its points."""

    nodes: int = 8
    ppn: int = 2
    noise: float = 0.02
    """Relative standard deviation of a sample."""
    outliers: float = 0.03
    """Fraction of the samples that are outliers."""
    samples: int = 12
    """Samples of each case in each pass."""
    seed: int = 1


class _Sampler:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._random = np.random.default_rng(shape.seed)
        self.measured = Measured(
            library="simulated",
            ranks=shape.nodes * shape.ppn,
            nodes=shape.nodes,
            ppn=[shape.ppn] * shape.nodes,
        )

    def add(self, what: str, seconds: float, **about: Any) -> None:
        """Add noisy samples of this duration."""
        for number in range(_PASSES):
            drawn = seconds * np.exp(self._random.normal(0, self._shape.noise, self._shape.samples))
            hit = self._random.random(self._shape.samples) < self._shape.outliers
            drawn = np.where(hit, drawn * (1 + self._random.exponential(5, self._shape.samples)), drawn)
            self.measured.add(what, number, drawn.tolist(), about)

    def add_trains(self, latency: float, raw: float, limit: float, burst: float) -> None:
        """Add trains of messages over a link that passes a burst at its raw bandwidth."""
        size = 64 << 10
        while size * _TRAIN / limit < 0.02 and size < 4 << 20:
            size *= 4
        sent = size * np.arange(1, _TRAIN + 1)
        times = np.maximum(sent / raw, (sent - burst) / limit) + 2 * latency
        for number in range(_PASSES):
            trains = [
                np.maximum.accumulate(times * np.exp(self._random.normal(0, 1e-3, _TRAIN))) for _ in range(3)
            ]
            about = {"level": "network", "bytes": size, "window": _WINDOW}
            self.measured.add("train", number, np.concatenate(trains).tolist(), about)


def simulate(machine: MachineFile, shape: Shape) -> Measured:
    """The points of a calibration of this machine."""
    sampler = _Sampler(shape)
    idle = [NodeLoad(f"node{node}", 64, 0.0, 0.0, 0.0) for node in range(shape.nodes)]
    sampler.measured.loads = [idle] * (_PASSES + 1)
    for level in _levels(machine, shape):
        _add_messages(sampler, machine, level)
        _add_directions(sampler, machine, level, shape.nodes if level == "network" else shape.ppn)
    _add_flows(sampler, machine, shape)
    for exponent in range(12, 27):
        size = 1 << exponent
        bandwidth = reduction_bandwidth(machine, size)
        if math.isfinite(bandwidth):
            sampler.add("reduction", size / bandwidth, bytes=size, ranks=shape.ppn)
    _add_engine(sampler, machine, _levels(machine, shape)[-1])
    if machine.shared:
        _add_shared(sampler, machine)
    return sampler.measured


def _levels(machine: MachineFile, shape: Shape) -> list[str]:
    there = {"socket": shape.ppn > 1, "node": shape.ppn > 1, "network": shape.nodes > 1}
    return [
        level
        for level in LEVELS
        if there[level] and (level in machine.levels or (level == "network" and shape.nodes > 1))
    ] or ["node"]


def message_seconds(machine: MachineFile, level: str, size: int) -> float:
    """Seconds of a single message on an idle link."""
    one = protocol_for(machine.level(level), size)
    limit = machine.limit("node")
    if level != "network" or limit.bandwidth is None:
        return one.latency + size / one.bandwidth
    beyond = max(0, size - limit.burst)
    return one.latency + (size - beyond) / one.bandwidth + beyond / min(limit.bandwidth, one.bandwidth)


def _add_messages(sampler: _Sampler, machine: MachineFile, level: str) -> None:
    protocols = machine.level(level)
    limit = machine.limit("node")
    border = next((one.begin for one in protocols if one.synchronous), None)
    if level == "network":
        raw = protocol_for(protocols, _LARGE).bandwidth
        bandwidth = min(limit.bandwidth or raw, raw)
        sampler.add_trains(message_seconds(machine, level, 1), raw, bandwidth, limit.burst)
    eager = _LONGEST if border is None else max(0, border - 1)
    about = {"level": level, "bytes": eager, "synchronous": border}
    sampler.measured.add("eager", 0, [], about)
    sizes = {1 << exponent for exponent in range(27)}
    sizes |= {3 << exponent for exponent in range(9, 25)}
    # The measuring program adds sizes where times bend.
    for one in protocols:
        sizes |= {round(one.begin * factor) for factor in (0.75, 0.87, 0.95, 1.05, 1.15, 1.33) if one.begin}
        sizes |= {one.begin - 1, one.begin}
    for size in sorted(size for size in sizes if 1 <= size <= _LONGEST):
        sampler.add("ping-pong", message_seconds(machine, level, size), level=level, bytes=size, count=1)


def _add_directions(sampler: _Sampler, machine: MachineFile, level: str, ranks: int) -> None:
    for size in (1 << exponent for exponent in range(13, 25)):
        one = protocol_for(machine.level(level), size)
        limit = machine.limit("node").bandwidth if level == "network" else None
        wire = size / min(one.bandwidth, limit or one.bandwidth)
        alone = one.latency + wire
        about = {"level": level, "bytes": size, "count": 1}
        sampler.add("one-way", alone + machine.level(level)[0].latency, **about)
        sampler.add("exchange", alone + (1 - one.exchange) * wire, **about)
        if ranks > 2:
            sampler.add("shift", alone + (1 - one.duplex) * wire, **about)


def _add_flows(sampler: _Sampler, machine: MachineFile, shape: Shape) -> None:
    def add(limit: str, flows: int, pairs: int, rate: float, *, tiny: bool, both_ways: bool) -> None:
        messages = 1000 if tiny else 16
        size = _TINY if tiny else _LARGE
        amount = flows * messages * (1 if tiny else size) * (2 if both_ways and limit == "fabric" else 1)
        about = {"flows": flows, "pairs": pairs, "bytes": size, "messages": messages, "both_ways": both_ways}
        sampler.add("flows", amount / rate, limit=limit, window=1 if both_ways else 4, **about)

    def least(*rates: float | None) -> float:
        return min(rate for rate in rates if rate is not None)

    node, fabric, memory = (machine.limit(name) for name in ("node", "fabric", "memory"))
    for flows in _counts(shape.ppn // 2):
        bandwidth = protocol_for(machine.level("node"), _LARGE).bandwidth
        add("memory", flows, flows, least(flows * bandwidth, memory.bandwidth), tiny=False, both_ways=False)
    if shape.nodes < 2:
        return
    network = protocol_for(machine.level("network"), _LARGE)
    # Each rank sends one message at a time.
    pace = 1 / (protocol_for(machine.level("network"), _TINY).latency + 2 * machine.engine_message)
    for flows in _counts(shape.ppn):
        add(
            "node",
            flows,
            flows,
            least(flows * network.bandwidth, node.bandwidth),
            tiny=False,
            both_ways=False,
        )
        add("node", flows, flows, least(flows * pace, node.message_rate), tiny=True, both_ways=True)
    for pairs in _counts(shape.nodes // 2):
        flows = pairs * shape.ppn
        of_node = least(shape.ppn * network.bandwidth, node.bandwidth)
        add("fabric", flows, pairs, least(pairs * of_node, fabric.bandwidth), tiny=False, both_ways=False)
        rate = least(2 * pairs * least(shape.ppn * pace, node.message_rate), fabric.message_rate)
        add("fabric", flows, pairs, rate, tiny=True, both_ways=True)


def _counts(last: int) -> list[int]:
    powers = [1 << exponent for exponent in range(12)]
    return sorted(
        {one for power in powers for one in (power, power + power // 2) if one <= last} | {last} - {0}
    )


def _add_engine(sampler: _Sampler, machine: MachineFile, level: str) -> None:
    latency = message_seconds(machine, level, _TINY)
    sampler.add("round-trip", latency, level=level, bytes=_TINY)
    for segments in (1, 2, 4, 8, 16, 32):
        for algorithm in ("recursive_doubling", "ring"):
            spec = f"{algorithm}:segments={segments}:window={segments}"
            _, latencies, ends, rounds = count_work(spec, 2)
            seconds = latencies * latency + ends * machine.engine_message + rounds * machine.engine_round
            sampler.add("engine", seconds, level=level, spec=spec, ranks=2, bytes=8 * segments)


def _add_shared(sampler: _Sampler, machine: MachineFile) -> None:
    """Add calls through shared memory as the walker predicts them."""
    model = Model(_core.Machine(file_text(machine)))
    flows = {
        "exchange": ("allreduce", "recursive_doubling"),
        "ring": ("allreduce", "ring"),
        "one-way": ("bcast", "binomial"),
    }
    for flow, (collective, spec) in flows.items():
        for size in [_TINY, *(1 << power for power in range(12, 25))]:
            seconds = model.predict(Call(collective, size, "nodes=1,ppn=2"), spec).seconds
            sampler.add("shared", seconds, level="node", flow=flow, bytes=size)
