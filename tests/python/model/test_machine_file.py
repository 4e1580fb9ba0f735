# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto import _core
from stretto.model.machine_file import (
    DISTANCES,
    LEVELS,
    LIMITS,
    Device,
    Limit,
    Lines,
    MachineFile,
    Protocol,
    ReductionRate,
    SharedMemory,
    file_text,
    layout,
    protocol_for,
    read_machine_file,
    reduction_bandwidth,
)
from stretto.model.walker import machine_names, machine_text
from stretto.support.errors import StrettoError

figures = st.floats(1, 1e14).map(lambda value: float(f"{value:.4g}"))
seconds = st.floats(0, 999).map(lambda value: float(f"{value:.4g}"))
lines = st.text(max_size=20).filter(str.isprintable)
parts = st.floats(0, 1).map(lambda value: round(value, 3))


def ascending(count: int) -> st.SearchStrategy[list[int]]:
    sizes = st.lists(st.integers(1, 1 << 40), max_size=count, unique=True)
    return sizes.map(lambda chosen: [0, *sorted(chosen)])


@st.composite
def machines(draw: st.DrawFn) -> MachineFile:
    def protocols() -> list[Protocol]:
        return [
            Protocol(
                begin,
                draw(seconds),
                draw(figures),
                draw(st.booleans()),
                draw(parts),
                draw(parts),
                draw(st.none() | figures),
            )
            for begin in draw(ascending(4))
        ]

    def rates() -> list[ReductionRate]:
        return [ReductionRate(begin, draw(figures)) for begin in draw(ascending(3))]

    lines_at = st.builds(Lines, seconds, st.none() | figures)
    levels = draw(st.sets(st.sampled_from(LEVELS), min_size=1))
    limits = {
        name: Limit(
            draw(st.none() | figures),
            None if name == "memory" else draw(st.none() | st.floats(1, 1e11).map(round).map(float)),
            draw(st.integers(0, 1 << 40)) if name == "node" else 0,
            draw(st.integers(0, 1 << 40)) if name == "memory" else 0,
        )
        for name in draw(st.sets(st.sampled_from(LIMITS)))
    }
    return MachineFile(
        name=draw(lines),
        description=draw(lines),
        levels={name: protocols() for name in LEVELS if name in levels},
        limits={name: limits[name] for name in LIMITS if name in limits},
        reduction=[ReductionRate(begin, draw(figures)) for begin in draw(st.just([]) | ascending(3))],
        engine_message=draw(seconds),
        engine_round=draw(seconds),
        shared=SharedMemory(
            draw(seconds),
            draw(seconds),
            rates(),
            rates(),
            rates(),
            draw(st.dictionaries(st.sampled_from(DISTANCES), lines_at)),
            draw(st.none() | seconds),
        )
        if draw(st.booleans())
        else None,
        device=draw(st.none() | st.builds(Device, figures, figures, seconds)),
        notes={"points": [{"what": "ping-pong", "seconds": [[1e-7, 2.5, 1e9]]}]},
    )


def rounded(machine: MachineFile) -> MachineFile:
    """Message rates are written with four digits."""
    limits = {
        name: Limit(
            one.bandwidth,
            None if one.message_rate is None else float(f"{one.message_rate:.4g}"),
            one.burst,
            one.begin,
        )
        for name, one in machine.limits.items()
    }
    return MachineFile(
        machine.name, machine.levels, machine.description, limits,
        machine.reduction, machine.engine_message, machine.engine_round, machine.shared, machine.notes,
        machine.device,
    )  # fmt: skip


@given(machines())
def test_what_is_written_is_read_back(machine: MachineFile) -> None:
    text = file_text(machine)
    assert read_machine_file(text) == rounded(machine)
    again = _core.Machine(text)
    assert again.name == machine.name
    highest = [name for name in LEVELS if name in machine.levels][-1]
    rows = [(row.begin, row.core) for row in again.protocols(highest)]
    assert rows == [(row.begin, row.core) for row in machine.levels[highest]]


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=30,
)


@given(nested)
def test_the_layout_is_json(value: Any) -> None:
    assert same(json.loads(layout(value)), value)
    assert same(json.loads(layout({"a": [value]})), {"a": [value]})


def same(one: Any, other: Any) -> bool:
    """Equal, but for the digits that are not written."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-9, abs=0)
    return bool(one == other)


def test_a_row_of_figures_is_a_line_of_the_file() -> None:
    machine = MachineFile(
        "lab",
        {
            "network": [
                Protocol(0, 2e-6, 1.177e10, core=3.1e9),
                Protocol(1 << 16, 5e-6, 1e9, True, 1.0, 0.25),
            ]
        },
        limits={"node": Limit(2.39e7, 1.5e5, 250_000)},
        reduction=[ReductionRate(0, 3.2e10)],
        engine_message=1.23456e-7,
    )
    written = [line.strip() for line in file_text(machine).splitlines()]
    assert '{"from": 0, "latency": 2e-6, "bandwidth": 1.177e10, "core": 3.1e9},' in written
    row = '{"from": "64KiB", "latency": 5e-6, "bandwidth": 1e9, "synchronous": true, "exchange": 0.25}'
    assert row in written
    assert '"node": {"bandwidth": 2.39e7, "message_rate": 150000.0, "burst": 250000}' in written
    assert '"engine": {"message": 1.235e-7, "round": 0.0},' in written


def test_a_level_that_is_missing_is_as_the_next_one() -> None:
    near, far = [Protocol(0, 1e-6, 1e9)], [Protocol(0, 2e-6, 1e9)]
    assert MachineFile("a", {"node": near, "network": far}).level("socket") == near
    assert MachineFile("a", {"node": near}).level("network") == near
    assert MachineFile("a", {"socket": near, "network": far}).level("node") == far
    assert MachineFile("a", {"node": near}).limit("fabric") == Limit()


def test_the_row_for_a_size() -> None:
    rows = [Protocol(0, 1e-6, 1e9), Protocol(100, 2e-6, 1e9)]
    assert [protocol_for(rows, size).begin for size in (0, 99, 100, 101)] == [0, 0, 100, 100]
    machine = MachineFile("a", {"node": rows}, reduction=[ReductionRate(0, 3.0), ReductionRate(9, 2.0)])
    assert [reduction_bandwidth(machine, size) for size in (8, 9)] == [3.0, 2.0]


@pytest.mark.parametrize("name", machine_names())
def test_the_machines_that_are_built_in(name: str) -> None:
    machine = read_machine_file(machine_text(name))
    assert machine.name == name
    assert machine.level("network")[0].latency > 0


def with_core(core: str) -> str:
    """A machine with a row of this `core`."""
    row = f'{{"from": 0, "latency": 1e-6, "bandwidth": 1e9, "core": {core}}}'
    return f'{{"format": "stretto-machine", "version": 1, "name": "a", "levels": {{"node": [{row}]}}}}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1"),
        ('{"format": "stretto-table", "version": 1}', "stretto-machine"),
        ('{"format": "stretto-machine", "version": 1, "name": "a", "levels": {}}', "at least one of socket"),
        (with_core("0"), r"levels.node\[0\].core: expected a number from 1 to 1e"),
        (with_core("true"), r"levels.node\[0\].core: expected a number"),
        (with_core('1, "cores": 2'), r"there is no such key \(did you mean core\?\)"),
    ],
)
def test_no_machine_file(text: str, message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        read_machine_file(text)
