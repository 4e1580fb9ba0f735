# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto import _core
from stretto._core import Topology
from stretto.spec.recipes import Recipe, all_recipes
from stretto.spec.topologies import (
    as_option,
    flat_text,
    parse_topology,
    read_topology_text,
    telling_topologies,
    topology_text,
)
from stretto.support.errors import StrettoError


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((None, None, None, None), "nodes=4,ppn=1"),
        ((None, 7, None, None), "nodes=7,ppn=1"),
        ((None, None, 4, 2), "nodes=4,ppn=2"),
        ((None, None, None, 3), "nodes=1,ppn=3"),
        (("map=0,0,1", None, None, None), "map=0,0,1"),
    ],
)
def test_options_name_a_topology(
    options: tuple[str | None, int | None, int | None, int | None], text: str
) -> None:
    assert topology_text(*options, usual_ranks=4) == text


def test_two_ways_to_name_it_are_an_error() -> None:
    with pytest.raises(StrettoError, match="one of them"):
        topology_text("ppn=2", 2, None, None, usual_ranks=4)


def test_a_topology_may_be_a_file(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("a 0\na 1\nb 0\n", encoding="utf-8")
    topology = parse_topology(read_topology_text(str(hosts)))
    assert (topology.node_of, topology.sockets) == ([0, 0, 1], 3)
    hosts.write_bytes(b"\xff\xfe")
    with pytest.raises(StrettoError, match="cannot be read"):
        read_topology_text(str(hosts))


def test_what_is_no_topology_is_said_in_a_line() -> None:
    with pytest.raises(StrettoError, match=r'^topology "nodes=2": it does not set ppn[^\n]*$'):
        parse_topology("nodes=2")


def test_telling_topologies_are_always_the_same_and_of_every_kind() -> None:
    texts = telling_topologies(300)
    assert texts == telling_topologies(300)
    assert texts[:50] == telling_topologies(50)
    topologies = [Topology(text) for text in texts]
    assert len(topologies) == 300
    assert any(one.nodes == 1 for one in topologies)
    assert any(one.min_ppn < one.max_ppn for one in topologies)
    assert any(not one.contiguous for one in topologies)
    assert any(one.sockets > one.nodes for one in topologies)
    assert any(one.numas > one.sockets for one in topologies)


@pytest.mark.parametrize("text", ["ppn=4+1,mapping=by_node", "node0 s0 m0\nnode1 s0 m1", flat_text(3)])
def test_a_shell_reads_back_what_is_printed(text: str) -> None:
    command = f"printf %s {as_option(text).removeprefix('--topology ')}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == text


@settings(max_examples=400, deadline=None)
@given(
    places=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=24),
    recipe=st.sampled_from(all_recipes()),
    data=st.data(),
)
def test_any_recipe_is_proven_on_any_topology(
    places: list[tuple[int, int]], recipe: Recipe, data: st.DataObject
) -> None:
    topology = Topology("".join(f"{node} {socket}\n" for node, socket in places))
    has_root = _core.has_root(recipe.collective)
    root = data.draw(st.integers(0, topology.ranks - 1)) if has_root else 0
    report = _core.verify(recipe.collective, recipe.text, topology, root)
    assert report.ok, report.error
