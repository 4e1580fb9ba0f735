# SPDX-License-Identifier: Apache-2.0
"""The part of a timeline that a picture shows: all of it, or an overview that a reader can grasp.

A picture of many ranks is a tangle. So nodes are drawn in place of their ranks. Where that does not help,
only one rank (or node) and its partners are drawn. Of a row of steps that are alike, only the first and the
last are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from stretto.show.timeline import Message, Timeline
from stretto.support.units import format_count

MOST_LANES = 16
_MOST_STEPS = 20
_ENDS = 2
"""The number of first steps, and of last steps, that are shown of a row of steps that are alike."""


@dataclass(frozen=True, slots=True)
class View:
    """A timeline whose ranks are the lanes of a picture, and whose steps are its columns."""

    timeline: Timeline
    lanes: Sequence[str]
    """The names of lanes."""
    steps: Sequence[int]
    """The number of the step in each column."""
    inside: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Messages between ranks of a lane, by column and lane."""
    bundles: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    """The number of messages behind an arrow, by column, sender and receiver; absent if it is 1."""
    notes: Sequence[str] = ()
    """A line for each kind of thing that is left out."""


def make_view(timeline: Timeline, focus: int) -> View:
    """Returns the view of a timeline. If it cannot show all ranks, it shows `focus` and its partners."""
    view = View(timeline, [f"rank {rank}" for rank in range(timeline.ranks)], range(timeline.steps))
    if timeline.ranks > MOST_LANES and timeline.tells_nodes and len(set(timeline.node_of)) > 1:
        view, focus = _by_nodes(timeline), timeline.node_of[focus]
    if view.timeline.ranks > MOST_LANES:
        view = _around(view, focus)
    return _without_repetitions(view) if view.timeline.steps > _MOST_STEPS else view


def _by_nodes(timeline: Timeline) -> View:
    """Returns a view with a lane for each node."""
    nodes = max(timeline.node_of) + 1
    ranks = Counter(timeline.node_of)
    inside: Counter[tuple[int, int]] = Counter()
    arrows: dict[tuple[int, int, int], list[Message]] = {}
    for one in timeline.messages:
        sender, receiver = timeline.node_of[one.sender], timeline.node_of[one.receiver]
        if sender == receiver:
            inside[one.step, sender] += 1
        else:
            moved = replace(one, sender=sender, receiver=receiver)
            arrows.setdefault((one.step, sender, receiver), []).append(moved)
    messages = [replace(some[0], reduces=any(one.reduces for one in some)) for some in arrows.values()]
    stuck = [
        replace(
            one,
            rank=timeline.node_of[one.rank],
            peer=timeline.node_of[one.peer] if 0 <= one.peer < timeline.ranks else nodes,
        )
        for one in timeline.stuck
    ]
    return View(
        replace(timeline, ranks=nodes, messages=messages, locals=[], node_of=list(range(nodes)), stuck=stuck),
        [f"node {node}\n{format_count(ranks[node], 'rank')}" for node in range(nodes)],
        range(timeline.steps),
        inside,
        Counter({key: len(some) for key, some in arrows.items() if len(some) > 1}),
        [f"Lanes are nodes, of {timeline.ranks} ranks in all. 3\u00d7: 3 messages; 3 inside: 3 in a node."],
    )


def _around(view: View, focus: int) -> View:
    """Returns a view with lanes for `focus` and for as many of its partners as there is room for."""
    timeline = view.timeline
    own = [one for one in timeline.messages if focus in (one.sender, one.receiver)]
    partners = {rank for one in own for rank in (one.sender, one.receiver)} - {focus}
    # The distance between ranks is the distance in a ring of all ranks.
    near = sorted(
        partners, key=lambda one: min((one - focus) % timeline.ranks, (focus - one) % timeline.ranks)
    )
    shown = sorted([focus, *near[: MOST_LANES - 1]])
    lane = {one: index for index, one in enumerate(shown)}
    kind = "node" if view.inside or "node" in view.lanes[focus] else "rank"
    whose = "its" if len(shown) > len(partners) else f"{len(shown) - 1} of its"
    partners_text = f"with {whose} {format_count(len(partners), 'partner')}"
    return View(
        replace(
            timeline,
            ranks=len(shown),
            messages=[
                replace(one, sender=lane[one.sender], receiver=lane[one.receiver])
                for one in own
                if one.sender in lane and one.receiver in lane
            ],
            locals=[replace(one, rank=lane[focus]) for one in timeline.locals if one.rank == focus],
            node_of=[timeline.node_of[one] for one in shown],
            stuck=[
                replace(one, rank=lane[focus], peer=lane.get(one.peer, len(shown)))
                for one in timeline.stuck
                if one.rank == focus
            ],
        ),
        [view.lanes[one] for one in shown],
        view.steps,
        Counter({(step, lane[one]): count for (step, one), count in view.inside.items() if one in lane}),
        Counter(
            {
                (step, lane[a], lane[b]): count
                for (step, a, b), count in view.bundles.items()
                if a in lane and b in lane
            }
        ),
        [
            *view.notes,
            f"Drawn: {kind} {focus} of {timeline.ranks}, {partners_text}.",
        ],
    )


def _without_repetitions(view: View) -> View:
    """Returns the view without the middle of rows of steps that differ only in their blocks."""
    timeline = view.timeline
    alike = _signatures(view)
    kept: list[int] = []
    for _, group in groupby(range(timeline.steps), key=lambda step: alike[step]):
        run = list(group)
        kept += run if len(run) <= 2 * _ENDS + 1 else [*run[:_ENDS], *run[-_ENDS:]]
    if len(kept) == timeline.steps:
        return view
    column = {step: index for index, step in enumerate(kept)}
    return View(
        replace(
            timeline,
            steps=len(kept),
            messages=[replace(m, step=column[m.step]) for m in timeline.messages if m.step in column],
            locals=[replace(one, step=column[one.step]) for one in timeline.locals if one.step in column],
            stuck=[replace(one, step=column[one.step]) for one in timeline.stuck if one.step in column],
        ),
        view.lanes,
        [view.steps[step] for step in kept],
        Counter({(column[step], one): n for (step, one), n in view.inside.items() if step in column}),
        Counter({(column[step], a, b): n for (step, a, b), n in view.bundles.items() if step in column}),
        [*view.notes, "⋯: steps like those beside it, with other blocks."],
    )


def _signatures(view: View) -> list[Hashable]:
    """Returns a description of each step that leaves out the blocks."""
    found: list[set[Hashable]] = [set() for _ in range(view.timeline.steps)]
    for message in view.timeline.messages:
        found[message.step].add((message.sender, message.receiver, message.reduces))
    for action in view.timeline.locals:
        found[action.step].add((action.rank, action.kind))
    for one in view.timeline.stuck:
        found[one.step].add((one.rank, one.peer, "stuck"))
    for key, count in [*view.inside.items(), *view.bundles.items()]:
        found[key[0]].add((*key[1:], "messages", count))
    return [frozenset(one) for one in found]
