# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest

from stretto import _core
from stretto.model.walker import Call, Model, load_machine
from stretto.support.estimates import Estimate
from stretto.tune.findings import CallKind, Choice
from stretto.tune.modelled import modelled_shapes
from stretto.tune.table import Shape, Tuned, merged, table_text

MODEL = Model(load_machine("lab"))
KIND = CallKind("allreduce", "blocking")
SIZES = [1 << 10, 1 << 16, 1 << 20, 16 << 20]


def choice(size: int, spec: str, slower: float = 1.0) -> Choice:
    """Returns a choice. The library takes `slower` times the model's prediction."""
    native = slower * MODEL.predict(Call("allreduce", size, "nodes=8,ppn=1"), "native").seconds

    def exactly(value: float) -> Estimate:
        return Estimate(value, value, value, 0.95)

    return Choice(size, spec, exactly(native), exactly(native / 2), exactly(2.0))


def chosen(slower: float = 1.0) -> list[Choice]:
    return [
        choice(size, "ring:segment_bytes=256KiB" if size >= 1 << 20 else "native", slower) for size in SIZES
    ]


HERE = Shape(8, 1, 1)


def shapes_of(choices: list[Choice], shape: Shape = HERE) -> dict[int, dict[str, Any]]:
    return {one["nodes"]: one for one in modelled_shapes(MODEL, shape, [KIND], {"allreduce": choices})}


def test_other_node_counts_are_modelled() -> None:
    shapes = shapes_of(chosen())
    assert {2, 4, 9, 16, 32} <= shapes.keys()
    assert 8 not in shapes
    assert max(shapes) == 32
    assert all(shape["modelled"] for shape in shapes.values())
    last = shapes[9]["allreduce"][-1]["spec"]
    assert last.startswith("ring:segment_bytes=")
    assert shapes[9]["allreduce"][0] == {"from": "1KiB", "spec": "native"}
    assert shapes[9]["allreduce"][-1]["to"] == "16MiB"


def test_segments_grow_with_the_ranks() -> None:
    sizes = {
        nodes: _core.parse_spec(shape["allreduce"][-1]["spec"], "allreduce").segment_bytes
        for nodes, shape in shapes_of(chosen()).items()
    }
    assert sizes[32] > sizes[9]


def test_a_library_that_is_faster_than_the_model_says_stays() -> None:
    shapes = shapes_of(chosen(slower=0.2))
    native = [{"from": "1KiB", "to": "16MiB", "spec": "native"}]
    assert all(shape["allreduce"] == native for shape in shapes.values())


@pytest.mark.parametrize("shape", [Shape(1, 8, 8), Shape(3, 4, 1)])
def test_one_node_and_ragged_nodes_say_nothing_of_others(shape: Shape) -> None:
    assert shapes_of(chosen(), shape) == {}


def test_what_was_measured_goes_before_and_what_was_modelled_is_made_anew() -> None:
    modelled = modelled_shapes(MODEL, Shape(8, 1, 1), [KIND], {"allreduce": chosen()})
    old = {"shapes": [
        {"nodes": 9, "ppn": 1, "allreduce": [{"from": 0, "spec": "swing"}]},
        {"nodes": 16, "ppn": 1, "modelled": True, "bcast": [{"from": 0, "spec": "chain"}], "allreduce": []},
    ]}  # fmt: skip
    tuned = Tuned("Open MPI 4.1.4", "", Shape(8, 1, 1), {"allreduce": chosen()}, [], {}, modelled=modelled)
    table = merged(tuned, old)
    by_nodes = {shape["nodes"]: shape for shape in table["shapes"]}
    assert by_nodes[9]["allreduce"][0]["spec"] == "swing"
    assert by_nodes[16]["allreduce"]
    assert by_nodes[16]["bcast"] == [{"from": 0, "spec": "chain"}]
    text = table_text(json.loads(json.dumps(table)))
    assert _core.lookup(text, "allreduce", 32, 1, 16 << 20) == by_nodes[32]["allreduce"][-1]["spec"]
