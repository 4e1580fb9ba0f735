# SPDX-License-Identifier: Apache-2.0
"""A calibration's fit gives back the machine that the points were made from."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stretto.calibrate.engine import count_work
from stretto.calibrate.fit import Fit, fit, to_machine, uncertainties
from stretto.calibrate.limits import fit_bucket, split_trains
from stretto.calibrate.points import Measured, NodeLoad, Points, read_events
from stretto.calibrate.protocols import fit_protocols, predict
from stretto.calibrate.remarks import find_remarks
from stretto.calibrate.simulation import Shape, message_seconds, simulate
from stretto.model.machine_file import (
    Limit,
    MachineFile,
    Protocol,
    ReductionRate,
    SharedMemory,
    file_text,
    read_machine_file,
)
from stretto.support.errors import StrettoError
from stretto.support.robust import Typical, typical

CLUSTER = MachineFile(
    "cluster",
    {
        "node": [Protocol(0, 6e-7, 7e9), Protocol(4096, 2e-6, 9e9, True)],
        "network": [
            Protocol(0, 2e-6, 6e9),
            Protocol(64 << 10, 6e-6, 1.177e10, True, 0.7, 0.4),
        ],
    },
    limits={
        "node": Limit(2e10, 1e6),
        "memory": Limit(2.5e10),
        "fabric": Limit(5e10, 3e6),
    },
    reduction=[ReductionRate(0, 3.2e10), ReductionRate(16 << 20, 1.2e10)],
    engine_message=5e-7,
    engine_round=1.5e-7,
)
EMULATED = MachineFile(
    "emulated",
    {"network": [Protocol(0, 1e-5, 2e9), Protocol(64 << 10, 6e-5, 2e9, True)]},
    limits={"node": Limit(2.39e7, None, 250_000), "fabric": Limit(None, 1.4e5)},
    engine_message=2e-6,
)


def fitted(machine: MachineFile, **shape: Any) -> Fit:
    return fit(simulate(machine, Shape(**shape)))


def test_a_cluster() -> None:
    measured = simulate(CLUSTER, Shape(nodes=8, ppn=8))
    found = fit(measured)
    again = to_machine(found, "a", "", {})
    for level, rows in CLUSTER.levels.items():
        assert [(row.begin, row.synchronous) for row in again.levels[level]] == [
            (row.begin, row.synchronous) for row in rows
        ]
        for row, fit_row in zip(rows, again.levels[level], strict=True):
            assert fit_row.latency == pytest.approx(row.latency, rel=0.05)
            assert fit_row.bandwidth == pytest.approx(row.bandwidth, rel=0.05)
            assert fit_row.duplex == pytest.approx(row.duplex, abs=0.06)
            assert fit_row.exchange == pytest.approx(row.exchange, abs=0.06)
    assert again.limits.keys() == CLUSTER.limits.keys()
    for name, limit in CLUSTER.limits.items():
        found_limit = again.limits[name]
        assert found_limit.bandwidth == pytest.approx(limit.bandwidth, rel=0.03)
        if name != "memory":
            assert found_limit.message_rate == pytest.approx(limit.message_rate, rel=0.03)
    assert [rate.bandwidth for rate in again.reduction] == [
        pytest.approx(3.2e10, rel=0.02),
        pytest.approx(1.2e10, rel=0.02),
    ]
    assert 8 << 20 < again.reduction[1].begin <= 16 << 20
    assert again.engine_message == pytest.approx(5e-7, rel=0.1)
    assert again.engine_round == pytest.approx(1.5e-7, rel=0.2)
    assert find_remarks(measured, found) == []


def test_a_link_that_saves_up_a_burst() -> None:
    found = fitted(EMULATED, nodes=8, ppn=1)
    assert found.bucket is not None
    assert found.bucket.burst == pytest.approx(250_000, rel=0.1)
    again = to_machine(found, "a", "", {})
    assert again.limits["node"].burst == round(found.bucket.burst)
    assert again.limits["node"].bandwidth == pytest.approx(2.39e7, rel=0.02)
    # The level has the bandwidth of a burst, not the sustained bandwidth of the link.
    assert again.level("network")[-1].bandwidth == pytest.approx(2e9, rel=0.15)
    assert again.limits["fabric"].bandwidth is None
    assert again.limits["fabric"].message_rate == pytest.approx(1.4e5, rel=0.03)
    sizes = np.asarray([1e3, 1e5, 1e6, 1e7])
    expected = [message_seconds(EMULATED, "network", int(size)) for size in sizes]
    assert predict(found.levels["network"], sizes, found.bucket) == pytest.approx(expected, rel=0.1)


@st.composite
def machines(draw: st.DrawFn) -> MachineFile:
    """Two nodes of one rank. All properties are large enough to have an effect."""
    latency, bandwidth = draw(st.floats(3e-7, 5e-5)), draw(st.floats(1e8, 5e10))
    rows = [Protocol(0, latency, bandwidth)]
    border = draw(st.none() | st.integers(8, 20).map(lambda exponent: 1 << exponent))
    if border is not None:
        jump = draw(st.floats(1.5, 5))
        rows.append(Protocol(border, latency * jump + border / bandwidth * 0.3, bandwidth, True))
    return MachineFile(
        "drawn",
        {"network": rows},
        limits={"node": Limit(bandwidth)},
        engine_message=draw(st.floats(1e-8, 2e-6)),
        engine_round=draw(st.floats(1e-8, 1e-6)),
    )


# Messages of up to 255 bytes do not show the bandwidth: 2.6e9 is fitted, with an error of 5.3e9.
SHORT_MESSAGES = MachineFile(
    "short",
    {"network": [Protocol(0, 3.46e-5, 3e10), Protocol(256, 6.92e-5, 3e10, True)]},
    limits={"node": Limit(3e10)},
    engine_message=1e-6,
    engine_round=1e-7,
)


@settings(max_examples=15, deadline=None)
@example(SHORT_MESSAGES, 388)
@given(machines(), st.integers(0, 1000))
def test_any_machine_comes_back_within_its_uncertainty(machine: MachineFile, seed: int) -> None:
    found = fitted(machine, nodes=2, ppn=1, seed=seed)
    rows = machine.levels["network"]
    assert [one.protocol.begin for one in found.levels["network"]] == [row.begin for row in rows]
    for row, one in zip(rows, found.levels["network"], strict=True):
        # Five standard errors, as many figures are looked at.
        assert abs(one.protocol.latency - row.latency) <= 5 * one.latency_error + 0.02 * row.latency
        # The fit gives seconds per byte: if 0 is within their error, the bandwidth has no upper bound.
        slope_error = one.bandwidth_error / one.protocol.bandwidth**2
        assert abs(1 / one.protocol.bandwidth - 1 / row.bandwidth) <= 5 * slope_error + 0.02 / row.bandwidth
    assert found.engine is not None
    # A round's cost is the rest beside its messages, so it is as uncertain as they are.
    bias = 0.02 * machine.engine_message
    assert abs(found.engine.message.value - machine.engine_message) <= 5 * found.engine.message.error + bias
    assert abs(found.engine.round.value - machine.engine_round) <= 5 * found.engine.round.error + bias
    text = file_text(to_machine(found, "a", "", {}))
    errors = read_machine_file(text).notes["uncertainty"]
    assert errors.keys() == {path for path, _ in uncertainties(found)}


def times_of(
    seconds: list[float], seed: int, noise: float, outliers: float = 0.0, count: int = 16
) -> list[Typical]:
    random = np.random.default_rng(seed)
    times = []
    for one in seconds:
        samples = one * np.exp(random.normal(0, noise, count))
        samples = np.where(random.random(count) < outliers, samples * 5, samples)
        times.append(typical([samples.tolist()], random))
    return times


SIZES = sorted({1 << exponent for exponent in range(25)} | {3 << exponent for exponent in range(9, 23)})


def test_the_stated_error_is_the_error() -> None:
    deviations: dict[str, list[float]] = defaultdict(list)
    for seed in range(60):
        times = times_of([2e-6 + size / 1e10 for size in SIZES], seed, 0.03, 0.05)
        (piece,) = fit_protocols(SIZES, times, None)
        deviations["latency"].append((piece.protocol.latency - 2e-6) / piece.latency_error)
        deviations["bandwidth"].append((piece.protocol.bandwidth - 1e10) / piece.bandwidth_error)
    for found in deviations.values():
        within = float(np.mean(np.abs(found) < np.asarray(2.0)))
        assert 0.85 <= within <= 1
        assert 0.4 < float(np.std(found)) < 1.5  # neither too bold nor too cautious


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("outliers", [0.0, 0.3])
def test_noise_makes_no_protocols(noise: float, outliers: float) -> None:
    counts = []
    for seed in range(10):
        times = times_of([2e-6 + size / 1e10 for size in SIZES], seed, noise, outliers)
        counts.append(len(fit_protocols(SIZES, times, None)))
    assert counts.count(1) >= 9


def test_a_size_that_is_off_makes_no_protocol() -> None:
    times = times_of([(2e-6 + size / 1e10) * (4 if size == 2048 else 1) for size in SIZES], 1, 0.02)
    (piece,) = fit_protocols(SIZES, times, None)
    assert piece.protocol.latency == pytest.approx(2e-6, rel=0.05)


@pytest.mark.parametrize("border", [512, 8192, 1 << 20])
def test_where_a_protocol_begins_is_found(border: int) -> None:
    def seconds(size: int) -> float:
        return 2e-6 + size / 1e10 if size < border else 8e-6 + 2 * border / 1e10 + size / 2e10

    times = times_of([seconds(size) for size in SIZES], 1, 0.02)
    one, other = fit_protocols(SIZES, times, None)
    below, above = max(s for s in SIZES if s < border), min(s for s in SIZES if s >= border)
    assert below < other.protocol.begin <= above
    assert one.sizes[1] == below
    assert not other.protocol.synchronous
    # A slope that only changes is not taken for it either: the drop beyond a cache.
    times = times_of([2e-6 + size / 1e10 + max(0, size - border) / 2e9 for size in SIZES], 1, 0.02)
    assert len(fit_protocols(SIZES, times, None)) >= 2


def test_the_border_that_is_known_is_kept_even_if_times_do_not_show_it() -> None:
    times = times_of([2e-6 + size / 1e10 for size in SIZES], 1, 0.02)
    rows = fit_protocols(SIZES, times, 10_000)
    assert [(row.protocol.begin, row.protocol.synchronous) for row in rows] == [(0, False), (10_000, True)]
    # The border is above all sizes, below all of them, or leaves too few on a side.
    beyond = fit_protocols(SIZES, times, 1 << 30)
    assert [(row.protocol.begin, row.protocol.synchronous) for row in beyond] == [(0, False), (1 << 30, True)]
    always = fit_protocols(SIZES, times, 1)
    assert [(row.protocol.begin, row.protocol.synchronous) for row in always] == [(0, True)]
    few = fit_protocols(SIZES, times, 2)
    assert [(row.protocol.begin, row.protocol.synchronous) for row in few] == [(0, False), (2, True)]
    assert few[0].protocol.latency == few[1].protocol.latency


def train(burst: float, bandwidth: float, stall: float = 0.0, together: int = 1) -> list[float]:
    """Messages of 64 KiB; those of a group come in together; all are held up at the start."""
    sent = 65536.0 * np.arange(1, 65)
    there = np.maximum(np.maximum(sent / 2e9, (sent - burst) / bandwidth), stall)
    last = np.arange(64) // together * together + together - 1
    return [float(one) for one in there[np.minimum(last, 63)] + 1e-5 + 1e-8 * np.arange(64)]


@pytest.mark.parametrize("together", [1, 2, 8])
@pytest.mark.parametrize("stall", [0.0, 0.008])
def test_a_bucket(together: int, stall: float) -> None:
    trains = train(250e3, 24e6, stall, together) * 3
    points = Points("train", {"bytes": 65536}, [trains, trains])
    assert len(split_trains(points)) == 6
    bucket = fit_bucket(points, 1e-5)
    assert bucket is not None
    assert bucket.bandwidth == pytest.approx(24e6, rel=0.01)
    assert bucket.burst == pytest.approx(250e3, rel=0.05)


@pytest.mark.parametrize("stall", [0.0, 0.01])
def test_no_bucket(stall: float) -> None:
    points = Points("train", {"bytes": 65536}, [train(0, 24e6, stall) * 3])
    assert fit_bucket(points, 1e-5) is None


def test_a_limit_that_shows_nowhere_is_none() -> None:
    free = replace(CLUSTER, limits={})
    found = fitted(free, nodes=8, ppn=8)
    assert {name: one.limit for name, one in found.limits.items()} == dict.fromkeys(
        ("node", "memory", "fabric"), Limit()
    )
    assert to_machine(found, "a", "", {}).limits == {}


def test_what_a_call_is_made_of() -> None:
    # Segments, rounds with messages of one, ends of messages, rounds.
    assert count_work("recursive_doubling", 2) == (1, 1, 2, 2)
    assert count_work("recursive_doubling:segments=8:window=8", 2) == (8, 1, 16, 16)
    assert count_work("ring:segments=4:window=4", 2) == (4, 2, 16, 8)
    assert count_work("recursive_multiplying:radix=4", 4)[1:3] == (1, 6)


def test_directions_that_cannot_be_told_apart_from_free_ones() -> None:
    rows = [replace(row, duplex=1.0, exchange=1.0) for row in CLUSTER.levels["network"]]
    found = fitted(replace(CLUSTER, levels={"network": rows}), nodes=4, ppn=1, noise=0.05)
    assert [(row.protocol.duplex, row.protocol.exchange) for row in found.levels["network"]] == [
        (1.0, 1.0)
    ] * 2


def test_with_two_ranks_there_is_no_duplex() -> None:
    found = fitted(CLUSTER, nodes=2, ppn=1)
    assert found.directions["network"].keys() == {"exchange"}
    paths = [path for path, _ in uncertainties(found)]
    assert "levels/network/0/exchange" in paths
    assert "levels/network/0/duplex" not in paths


# Remarks.


def remarks_of(measured: Measured) -> list[str]:
    return find_remarks(measured, fit(measured))


def test_other_programs_are_noticed() -> None:
    measured = simulate(CLUSTER, Shape(nodes=2, ppn=1))
    idle, busy = NodeLoad("n0", 4, 0.0, 0.0, 0.1), NodeLoad("n1", 4, 1.5, 0.05, 3.2)
    measured.loads = [[idle, busy], [idle, idle], [busy, idle]]
    assert remarks_of(measured) == [
        "before measuring, others kept 1.5 of 4 cores of n1 busy while all ranks slept (load average 3.2)",
        "after measuring, others kept 1.5 of 4 cores of n1 busy while all ranks slept",
        "a hypervisor gave 5 % of the time of n1 to others",
    ]


def test_outliers_are_noticed() -> None:
    (line, *_) = remarks_of(simulate(CLUSTER, Shape(nodes=2, ppn=1, outliers=0.3)))
    assert "of the samples of messages of level network are outliers, up to" in line


def test_a_machine_that_changes_is_noticed() -> None:
    measured = simulate(CLUSTER, Shape(nodes=2, ppn=1))
    for one in measured.of("ping-pong"):
        one.passes[1] = [1.2 * second for second in one.passes[1]]
    lines = [line for line in remarks_of(measured) if "second half" in line]
    (line,) = lines
    assert line.startswith("in the second half messages of level network were 20 % slower than in the first")


def test_a_fit_that_does_not_hold_is_said() -> None:
    measured = simulate(CLUSTER, Shape(nodes=2, ppn=1))
    found = fit(measured)
    rows = found.levels["network"]
    found.levels["network"] = [
        replace(row, protocol=replace(row.protocol, latency=2 * row.protocol.latency)) for row in rows
    ]
    assert any("the fit of level network is off by" in line for line in find_remarks(measured, found))


# Events.


def test_events() -> None:
    lines = [
        "mpirun: hello\n",
        '{"event":"start","library":"MPICH","stretto":"1","ranks":2,"nodes":1,"ppn":[2],"seconds":3}\n',
        '{"event":"load","nodes":[{"host":"a","cores":2,"busy":0.1,"stolen":0,"load":1}]}\n',
        '{"event":"progress","done":1,"total":4}\n',
        '{"event":"points","what":"ping-pong","level":"node","bytes":8,"count":2,"pass":0,"seconds":[1,2]}\n',
        '{"event":"points","what":"ping-pong","level":"node","bytes":8,"count":2,"pass":1,"seconds":[3]}\n',
        '{"event":"points","what":"ping-pong","level":"node","bytes":4,"count":2,"pass":1,"seconds":[4]}\n',
        '{"event":"points","what":"eager","level":"node","bytes":9,"synchronous":null,"pass":0,"seconds":[]}\n',
        '{"event":"end"}\n',
    ]
    steps: list[tuple[float, float]] = []
    measured = read_events(lines, lambda *step: steps.append(step))
    assert steps == [(1, 4)]
    assert (measured.library, measured.ranks, measured.nodes) == ("MPICH", 2, 1)
    assert measured.loads == [[NodeLoad("a", 2, 0.1, 0, 1)]]
    four, eight = measured.of("ping-pong", level="node")
    assert (four.passes, eight.passes, eight.seconds) == ([[], [4]], [[1, 2], [3]], [1, 2, 3])
    assert measured.of("ping-pong", level="network") == []
    about = {"what": "ping-pong", "level": "node", "bytes": 8, "count": 2}
    assert eight.to_json() == {**about, "seconds": [[1, 2], [3]]}
    with pytest.raises(StrettoError, match="the measuring program ended early"):
        read_events(lines[:-1], lambda *_: None)
    with pytest.raises(StrettoError, match="failed: too short"):
        read_events(['{"event":"error","message":"too short"}'], lambda *_: None)


def test_the_simulated_figures_are_those_of_the_machine() -> None:
    measured = simulate(CLUSTER, Shape(nodes=4, ppn=4, noise=0.0, outliers=0.0))
    for one in measured.of("ping-pong", level="network"):
        expected = message_seconds(CLUSTER, "network", one.bytes)
        assert one.seconds == pytest.approx([expected] * len(one.seconds))
    flows = measured.of("flows", limit="node", flows=4, both_ways=False)[-1]
    amount = flows.about["flows"] * flows.about["messages"] * flows.bytes
    assert amount / flows.seconds[0] == pytest.approx(2e10)
    assert not math.isnan(sum(second for one in measured.points for second in one.seconds))


def test_shared_memory() -> None:
    """Slow writes cannot be distinguished from slow reads, as the module says."""
    rates = ([ReductionRate(0, 16e9)], [ReductionRate(0, 12e9)], [ReductionRate(0, 9e9)])
    machine = MachineFile(
        "a node",
        {"node": [Protocol(0, 6e-7, 7e9)]},
        reduction=[ReductionRate(0, 3e10)],
        engine_round=1e-7,
        shared=SharedMemory(4e-7, 1.5e-7, *rates),
    )
    found = fit(simulate(machine, Shape(nodes=1, ppn=2, noise=0.005, outliers=0))).shared
    assert found is not None
    shared = found.figures
    assert shared.latency == pytest.approx(4e-7, rel=0.3)
    assert shared.piece == pytest.approx(1.5e-7, rel=0.3)
    assert shared.write[-1].bandwidth == pytest.approx(16e9, rel=0.1)
    assert shared.read[-1].bandwidth == pytest.approx(12e9, rel=0.1)
    assert shared.reduce[-1].bandwidth == pytest.approx(9e9, rel=0.1)


def test_without_shared_memory() -> None:
    assert fit(simulate(MachineFile("a", {"node": [Protocol(0, 6e-7, 7e9)]}), Shape(nodes=1))).shared is None
