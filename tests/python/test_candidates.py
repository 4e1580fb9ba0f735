# SPDX-License-Identifier: Apache-2.0
"""A new algorithm is tried everywhere because of its row in the registry, without other changes."""

from __future__ import annotations

import pytest

from stretto import _core
from stretto.spec.recipes import sized_collectives
from stretto.spec.topologies import parse_topology
from stretto.tune.candidates import Candidates

TOPOLOGY = "nodes=4,ppn=4"
ONE_NODE = "nodes=1,ppn=32,l3=4"
SHORT, LONG = 1 << 10, 16 << 20


def names(specs: list[str], collective: str) -> set[str]:
    return {_core.parse_spec(spec, collective).algorithm for spec in specs}


@pytest.mark.parametrize("collective", sized_collectives())
def test_what_is_good_for_something_is_tried_everywhere(collective: str) -> None:
    mine = [one for one in _core.algorithms() if one.collective == collective]
    good = {one.name for one in mine if one.short_messages or one.long_messages}
    tuned = Candidates(collective, TOPOLOGY)
    assert good
    assert names(tuned.all(SHORT), collective) >= good
    assert names(tuned.all(LONG), collective) >= good


@pytest.mark.parametrize("topology", [TOPOLOGY, ONE_NODE])
@pytest.mark.parametrize("collective", ["allreduce", "bcast", "reduce"])
def test_a_part_is_tried_in_every_composed_algorithm(collective: str, topology: str) -> None:
    tuned = set(Candidates(collective, topology).all(SHORT))
    for whole in _core.algorithms():
        if whole.collective != collective or not whole.parts:
            continue
        if _core.why_unsupported(collective, whole.usual, parse_topology(topology)):
            continue
        usual = {name for _, name in whole.parts}
        parts = {
            one.name for one in _core.algorithms() if one.as_part and one.collective in dict(whole.parts)
        }
        tried = {name for recipe in whole.recipes for name in recipe.partition("(")[2].rstrip(")").split(",")}
        assert tried - {""} >= parts - usual
        assert tuned >= {str(_core.parse_spec(recipe, collective)) for recipe in whole.recipes}
