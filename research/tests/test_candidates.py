# SPDX-License-Identifier: Apache-2.0
"""A new algorithm is tried everywhere because of its row in the registry, without other changes."""

from __future__ import annotations

import pytest

from stretto import _core
from stretto.model.walker import Model, machine_text
from stretto.spec.recipes import sized_collectives
from stretto.spec.topologies import parse_topology
from stretto_research.advise.search import Search
from stretto_research.simulate.model_comparison import all_cases
from stretto_research.study.specs import own_specs

TOPOLOGY = "nodes=4,ppn=4"
ONE_NODE = "nodes=1,ppn=32,l3=4"


def names(specs: list[str], collective: str) -> set[str]:
    return {_core.parse_spec(spec, collective).algorithm for spec in specs}


def advised(collective: str, topology: str = TOPOLOGY) -> list[str]:
    return Search(Model(_core.Machine(machine_text("altec"))), collective, topology).recipes


@pytest.mark.parametrize("collective", sized_collectives())
def test_what_is_good_for_something_is_tried_everywhere(collective: str) -> None:
    mine = [one for one in _core.algorithms() if one.collective == collective]
    good = {one.name for one in mine if one.short_messages or one.long_messages}
    assert good
    assert names(own_specs(collective, [4, 4, 4, 4]), collective) == good
    assert names(advised(collective), collective) >= good


@pytest.mark.parametrize("topology", [TOPOLOGY, ONE_NODE])
@pytest.mark.parametrize("collective", ["allreduce", "bcast", "reduce"])
def test_a_part_is_tried_in_every_composed_algorithm(collective: str, topology: str) -> None:
    for whole in _core.algorithms():
        if whole.collective != collective or not whole.parts:
            continue
        if _core.why_unsupported(collective, whole.usual, parse_topology(topology)):
            continue
        assert set(advised(collective, topology)) >= set(whole.recipes)


def test_what_gains_by_segments_is_compared_in_segments() -> None:
    compared = {(case.collective, case.spec) for case in all_cases()}
    pipelined = [one for one in _core.algorithms() if one.segment_bytes and not one.needs_shared_nodes]
    assert {(one.collective, f"{one.usual}:segments=4") for one in pipelined} <= compared
