# SPDX-License-Identifier: Apache-2.0
"""Pictures of many ranks and many steps."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from stretto import _core
from stretto.show.diagram import draw_diagram, make_diagram
from stretto.show.timeline import Timeline, make_timeline
from stretto.show.view import MOST_LANES, View, make_view
from stretto.spec.recipes import find_recipe


def timeline_of(collective: str, recipe: str, where: str) -> Timeline:
    topology = _core.Topology(where)
    schedules = [_core.build(collective, recipe, topology, 0, rank) for rank in range(topology.ranks)]
    return make_timeline(schedules, topology.node_of)


def view_of(collective: str, recipe: str, where: str) -> View:
    return make_view(timeline_of(collective, recipe, where), 0)


def test_few_ranks_and_steps_are_all_shown() -> None:
    timeline = timeline_of("allreduce", "ring", "nodes=8,ppn=1")
    view = make_view(timeline, 0)
    assert view.timeline is timeline
    assert (view.lanes[7], list(view.steps), view.notes) == ("rank 7", list(range(14)), ())


def test_many_ranks_are_drawn_by_their_nodes() -> None:
    timeline = timeline_of("allreduce", "smp(ring)", "nodes=8,ppn=8")
    view = make_view(timeline, 0)
    assert list(view.lanes) == [f"node {node}\n8 ranks" for node in range(8)]
    # No message is lost: each is either inside a node, or counted at an arrow.
    arrows = Counter((one.step, one.sender, one.receiver) for one in view.timeline.messages)
    assert set(arrows.values()) == {1}
    crossing = [one for one in timeline.messages if timeline.crosses(one)]
    assert sum(view.bundles.get(arrow, 1) for arrow in arrows) == len(crossing)
    assert sum(view.inside.values()) == len(timeline.messages) - len(crossing)
    assert "of 64 ranks in all" in view.notes[0]


def test_messages_of_two_nodes_in_a_step_are_one_arrow() -> None:
    view = view_of("allreduce", "multilane(ring)", "nodes=4,ppn=8")
    assert max(view.bundles.values()) == 8


@pytest.mark.parametrize(
    ("call", "where", "shown", "note"),
    [
        ("allreduce ring", "nodes=64,ppn=1", [0, 1, 63], "rank 0 of 64, with its 2 partners"),
        (
            "allreduce recursive_doubling", "nodes=64,ppn=1", [0, 1, 2, 4, 8, 16, 32],
            "rank 0 of 64, with its 6 partners",
        ),
        (
            "bcast linear", "nodes=1,ppn=64", [*range(9), *range(57, 64)],
            "rank 0 of 64, with 15 of its 63 partners",
        ),
        ("allreduce smp(ring)", "nodes=20,ppn=2", [0, 1, 19], "node 0 of 20, with its 2 partners"),
    ],
)  # fmt: skip
def test_a_rank_or_node_is_shown_with_its_partners(
    call: str, where: str, shown: list[int], note: str
) -> None:
    collective, recipe = call.split()
    view = view_of(collective, recipe, where)
    assert [int(lane.split()[1]) for lane in view.lanes] == shown
    assert len(view.lanes) <= MOST_LANES
    assert any(note in one for one in view.notes)
    assert all(0 in (one.sender, one.receiver) for one in view.timeline.messages)


def test_steps_that_are_alike_are_left_out() -> None:
    view = view_of("allreduce", "ring", "nodes=64,ppn=1")
    # Two phases of 63 steps, which reduce and do not.
    assert list(view.steps) == [0, 1, 61, 62, 63, 64, 124, 125]
    assert view.timeline.steps == 8
    reduces = [one.reduces for one in view.timeline.messages if one.receiver == 0]
    assert reduces == [True] * 4 + [False] * 4
    assert view.notes[-1].startswith("⋯: ")


@pytest.mark.parametrize(
    ("recipe", "where"),
    [("ring", "nodes=64,ppn=1"), ("smp(ring)", "nodes=8,ppn=8"), ("nap", "nodes=27,ppn=4")],
)
def test_a_picture_of_many_ranks_has_a_size_that_can_be_looked_at(
    recipe: str, where: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.png"
    draw_diagram(make_diagram(find_recipe(recipe, None), _core.Topology(where), 0, False), file, False)
    with Image.open(file) as image:
        assert image.width < 3500
        assert image.height < 2000
