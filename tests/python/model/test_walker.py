# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.model.walker import (
    Call,
    Model,
    candidates,
    link_seconds,
    load_machine,
    machine_names,
    machine_text,
)
from stretto.support.errors import StrettoError

SPECS = ["ring", "ring:segments=5", "rabenseifner", "recursive_doubling:segments=2", "knomial:radix=4"]


def test_every_built_in_machine_is_read_and_says_where_it_comes_from() -> None:
    assert {"altec", "qdr", "marconi100", "bluewaters"} <= set(machine_names())
    for name in machine_names():
        machine = load_machine(name)
        assert machine.name == name
        notes = json.loads(machine_text(name))["notes"]
        assert any(key.startswith("levels") for key in notes), name
        assert "reduction" in notes, name


def test_altec_is_as_the_paper_has_it() -> None:
    machine = load_machine("altec")
    (network,) = machine.protocols("network")
    assert (network.latency, network.bandwidth) == (2e-6, 1.177e10)
    # 8e9 additions of 4 bytes each.
    assert machine.reduction_seconds(1 << 20) == pytest.approx(1 / 32e9)


@given(
    st.sampled_from(SPECS),
    st.integers(2, 12),
    st.integers(1, 3),
    st.integers(1, 1 << 22),
)
def test_the_parts_of_a_time_add_up_to_it(spec: str, nodes: int, ppn: int, size: int) -> None:
    prediction = Model(load_machine("bluewaters")).predict(
        Call("allreduce", size, f"nodes={nodes},ppn={ppn}"), spec
    )
    assert sum(prediction.parts.values()) == pytest.approx(prediction.seconds)
    assert all(part >= -1e-12 for part in prediction.parts.values())


@given(st.integers(2, 9), st.integers(12, 24))
def test_nothing_is_faster_than_the_links(nodes: int, power: int) -> None:
    machine = load_machine("altec")
    call = Call("allreduce", 1 << power, f"nodes={nodes},ppn=1")
    bound = link_seconds(call, machine)
    assert bound is not None
    model = Model(machine)
    for spec in ("ring", "ring:segments=8", "rabenseifner", "native"):
        assert model.predict(call, spec).seconds >= 0.999 * bound


def test_without_overlap_nothing_is_faster() -> None:
    model = Model(load_machine("altec"))
    call = Call("allreduce", 1 << 20, "nodes=8,ppn=1")
    for spec in SPECS:
        full, none = (model.predict(call, spec, overlap=overlap).seconds for overlap in ("full", "none"))
        assert none >= full


def test_candidates_fit_the_topology() -> None:
    flat = candidates("allreduce", "nodes=8,ppn=1")
    assert "native" in flat
    assert not any(spec.startswith("multilane") for spec in flat)
    assert any(spec.startswith("multilane") for spec in candidates("allreduce", "nodes=4,ppn=2"))


def test_a_bound_needs_two_nodes() -> None:
    assert link_seconds(Call("allreduce", 1024, "nodes=1,ppn=4"), load_machine("bluewaters")) is None


@pytest.mark.parametrize("name", ["no-such-machine", "."])
def test_a_machine_that_is_not_there(name: str) -> None:
    with pytest.raises(StrettoError, match="expected a file, or one of altec"):
        load_machine(name)


def test_a_machine_file_that_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    file.write_text('{"format": "stretto-machine", "version": 1, "name": "x", "levels": {}}')
    with pytest.raises(StrettoError, match="levels: expected at least one of socket, node and network"):
        load_machine(str(file))
