# SPDX-License-Identifier: Apache-2.0
"""Timelines: the steps at which the actions of a schedule happen, if every message takes one step.

Each rank counts its own rounds, so equal numbers need not mean the same time: a rank that has nothing to do
at first begins its round 0 later. A message is in flight in the first step in which both of its ranks have
reached its round, and a round ends with its last message. So the step of an action is the length of the
longest path to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Protocol

from stretto.support.errors import StrettoError


class SliceLike(Protocol):
    """Some blocks of one buffer, as stretto._core has them."""

    @property
    def buffer(self) -> str: ...  # noqa: D102
    @property
    def first(self) -> int: ...  # noqa: D102
    @property
    def count(self) -> int: ...  # noqa: D102
    @property
    def run(self) -> int: ...  # noqa: D102
    @property
    def step(self) -> int: ...  # noqa: D102


class ActionLike(Protocol):
    """An action of a rank, as stretto._core has it."""

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def peer(self) -> int: ...  # noqa: D102
    @property
    def into(self) -> SliceLike | None: ...  # noqa: D102
    @property
    def left(self) -> SliceLike | None: ...  # noqa: D102
    @property
    def right(self) -> SliceLike | None: ...  # noqa: D102


class ScheduleLike(Protocol):
    """The schedule of one rank, as stretto._core has it."""

    @property
    def ranks(self) -> int: ...  # noqa: D102
    @property
    def blocks(self) -> int: ...  # noqa: D102
    @property
    def rounds(self) -> Sequence[Sequence[ActionLike]]: ...  # noqa: D102


_MOST_RUNS = 4
"""The most runs of blocks that are all written out."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Some blocks of a buffer, mostly consecutive ones. Numbers of scratch blocks are local to a rank."""

    buffer: str
    first: int
    count: int
    run: int = 0
    """Consecutive blocks before the next step; 0 if all are consecutive."""
    step: int = 0
    """The distance from the begin of one run to the begin of the next."""

    @classmethod
    def of(cls, piece: SliceLike) -> Blocks:
        """Returns the blocks of a slice."""
        return cls(piece.buffer, piece.first, piece.count, piece.run, piece.step)

    @property
    def scratch(self) -> bool:
        """Whether the blocks are scratch memory."""
        return self.buffer == "scratch"

    @property
    def numbers(self) -> str:
        """The block numbers as text: `3`, or `4-7`, or `1-2,5-6`, with `…` in place of many runs."""
        runs = (
            [
                (self.first + at * self.step, min(self.run, self.count - at * self.run))
                for at in range(-(-self.count // self.run))
            ]
            if self.run
            else [(self.first, self.count)]
        )
        texts = [str(first) if count == 1 else f"{first}-{first + count - 1}" for first, count in runs]
        return ",".join([*texts[:2], "…", texts[-1]] if len(texts) > _MOST_RUNS else texts)

    @property
    def all(self) -> list[int]:
        """The number of each block."""
        run = self.run or self.count
        return [self.first + at // run * self.step + at % run for at in range(self.count)]


@dataclass(frozen=True, slots=True)
class Message:
    """A message from one rank to another in one step."""

    step: int
    sender: int
    receiver: int
    sent: Blocks
    into: Blocks
    reduces: bool = False
    arrives_left: bool = False
    """Whether the received blocks are the left operand of the reduction."""


@dataclass(frozen=True, slots=True)
class Local:
    """A copy or reduction within a rank."""

    step: int
    rank: int
    kind: str
    into: Blocks
    left: Blocks
    right: Blocks | None


@dataclass(frozen=True, slots=True)
class Stuck:
    """A send or receive that never ends: it has no partner, or ranks wait for each other."""

    step: int
    rank: int
    peer: int
    """The other rank, which need not exist in a wrong schedule."""
    sends: bool
    blocks: Blocks


@dataclass(frozen=True, slots=True)
class Timeline:
    """All actions, by step."""

    ranks: int
    blocks: int
    steps: int
    messages: list[Message]
    locals: list[Local]
    node_of: list[int]
    """The node of each rank."""
    stuck: list[Stuck] = field(default_factory=list)
    """Empty unless the schedule is wrong. Then the actions after a wait that never ends are missing."""
    names_input: bool = False
    """Whether a block of the input differs from the block of the output with the same number."""

    @property
    def by_node(self) -> list[int]:
        """All ranks ordered by node, as they are drawn."""
        return sorted(range(self.ranks), key=lambda rank: (self.node_of[rank], rank))

    @property
    def tells_nodes(self) -> bool:
        """Whether some node has several ranks, so that messages inside and between nodes differ."""
        return len(set(self.node_of)) < self.ranks

    def crosses(self, message: Message) -> bool:
        """Whether the message goes from one node to another."""
        return self.node_of[message.sender] != self.node_of[message.receiver]


_Place = tuple[int, int]  # rank, round


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a message."""

    place: _Place
    action: ActionLike

    @property
    def sends(self) -> bool:
        return self.action.kind == "send"

    def blocks(self) -> Blocks:
        return _blocks(self.action.left if self.sends else self.action.into)


@dataclass(frozen=True, slots=True)
class _Match:
    send: _End
    receive: _End


def make_timeline(
    schedules: Sequence[ScheduleLike], node_of: Sequence[int] | None = None, *, names_input: bool = False
) -> Timeline:
    """Puts the schedules of all ranks, from rank 0 on, on one clock. The default is one rank per node."""
    rounds = [schedule.rounds for schedule in schedules]
    matches, alone = _match(rounds)
    starts = _start_steps(rounds, matches)

    def start(end: _End) -> int | None:
        """Returns the step in which the rank reaches this round; None if it never does."""
        rank, index = end.place
        return starts[rank][index] if index < len(starts[rank]) else None

    messages = []
    for match in matches:
        steps = start(match.send), start(match.receive)
        if steps[0] is not None and steps[1] is not None:
            messages.append(_message(match, max(steps[0], steps[1])))
        else:
            alone += [match.send, match.receive]
    stuck = [
        Stuck(step, end.place[0], end.action.peer, end.sends, end.blocks())
        for end in alone
        if (step := start(end)) is not None
    ]
    local = [
        Local(
            starts[rank][index],
            rank,
            action.kind,
            _blocks(action.into),
            _blocks(action.left),
            _blocks(action.right) if action.right is not None else None,
        )
        for rank, own in enumerate(rounds)
        for index, actions in enumerate(own)
        if index < len(starts[rank])
        for action in actions
        if action.kind in ("copy", "reduce")
    ]
    messages.sort(key=lambda message: (message.step, message.sender, message.receiver))
    local.sort(key=lambda action: (action.step, action.rank))
    stuck.sort(key=lambda one: (one.step, one.rank, one.peer))
    ends = [*(one.step for one in messages), *(one.step for one in local), *(one.step for one in stuck)]
    ranks = len(schedules)
    return Timeline(
        ranks,
        schedules[0].blocks if schedules else 0,
        max(ends, default=-1) + 1,
        messages,
        local,
        list(range(ranks)) if node_of is None else list(node_of),
        stuck,
        names_input,
    )


def _message(match: _Match, step: int) -> Message:
    receive = match.receive.action
    reduces = receive.kind == "recv_reduce"
    return Message(
        step,
        match.send.place[0],
        match.receive.place[0],
        match.send.blocks(),
        match.receive.blocks(),
        reduces,
        arrives_left=reduces and receive.left is None,
    )


def _blocks(piece: SliceLike | None) -> Blocks:
    if piece is None:
        raise StrettoError("the schedule has an action without the slice that its kind needs")
    return Blocks.of(piece)


def _match(rounds: Sequence[Sequence[Sequence[ActionLike]]]) -> tuple[list[_Match], list[_End]]:
    """Pair every send with its receive. Returns the pairs, and the actions without a partner.

    The n-th message from one rank to another goes into the n-th receive there from it.
    """
    sends: dict[_Place, list[_End]] = defaultdict(list)
    receives: dict[_Place, list[_End]] = defaultdict(list)
    for rank, own in enumerate(rounds):
        for index, actions in enumerate(own):
            for action in actions:
                if action.kind == "send":
                    sends[rank, action.peer].append(_End((rank, index), action))
                elif action.kind in ("recv", "recv_reduce"):
                    receives[action.peer, rank].append(_End((rank, index), action))
    matches: list[_Match] = []
    alone: list[_End] = []
    for pair in sends.keys() | receives.keys():
        for send, receive in zip_longest(sends[pair], receives[pair]):
            if send is not None and receive is not None:
                matches.append(_Match(send, receive))
            else:
                alone += [end for end in (send, receive) if end is not None]
    return matches, alone


def _start_steps(rounds: Sequence[Sequence[Sequence[ActionLike]]], matches: list[_Match]) -> list[list[int]]:
    """Returns the steps in which each rank reaches its rounds, followed by the step in which it is done.

    A rank that waits forever has fewer steps. Messages without a partner delay no rank.
    """
    partners: dict[_Place, list[_Place]] = defaultdict(list)
    for match in matches:
        partners[match.send.place].append(match.receive.place)
        partners[match.receive.place].append(match.send.place)
    starts = [[0] for _ in rounds]
    ready = list(range(len(rounds)))
    while ready:
        rank = ready.pop()
        index = len(starts[rank]) - 1
        others = partners[rank, index]
        if index == len(rounds[rank]) or any(len(starts[peer]) <= other for peer, other in others):
            continue
        begin = max([starts[rank][index], *(starts[peer][other] for peer, other in others)])
        starts[rank].append(begin + 1)
        ready += [rank, *(peer for peer, _ in partners[rank, index + 1])]
    return starts
