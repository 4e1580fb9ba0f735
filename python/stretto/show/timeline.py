# SPDX-License-Identifier: Apache-2.0
"""When each action of a schedule happens, if every message takes one step: what a drawing needs to know.

Rounds are counted by each rank for itself, so equal numbers need not mean the same time: a rank that has
nothing to do at first begins its round 0 later. The time stamp here is the longest path: a message is under
way in the first step in which both its ranks have come to the round that holds it, and a round ends when its
last message has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from stretto.support.errors import StrettoError


class SliceLike(Protocol):
    """A run of blocks of one buffer, as stretto._core has it."""

    @property
    def buffer(self) -> str: ...  # noqa: D102
    @property
    def first(self) -> int: ...  # noqa: D102
    @property
    def count(self) -> int: ...  # noqa: D102


class ActionLike(Protocol):
    """One thing that a rank does, as stretto._core has it."""

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


@dataclass(frozen=True, slots=True)
class Blocks:
    """A run of blocks. Numbers of scratch blocks mean nothing to other ranks."""

    buffer: str
    first: int
    count: int

    @classmethod
    def of(cls, piece: SliceLike) -> Blocks:
        """The blocks of a slice."""
        return cls(piece.buffer, piece.first, piece.count)

    @property
    def scratch(self) -> bool:
        """Whether they are scratch memory."""
        return self.buffer == "scratch"

    @property
    def numbers(self) -> str:
        """`3`, or `4-7`."""
        return str(self.first) if self.count == 1 else f"{self.first}-{self.first + self.count - 1}"


@dataclass(frozen=True, slots=True)
class Message:
    """What goes from one rank to another in one step."""

    step: int
    sender: int
    receiver: int
    sent: Blocks
    into: Blocks
    reduces: bool = False
    arrives_left: bool = False
    """Of a reduction: whether what arrives is the operator's left operand."""


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
class Timeline:
    """All that happens, by step."""

    ranks: int
    blocks: int
    steps: int
    messages: list[Message]
    locals: list[Local]
    node_of: list[int]
    """The node of each rank."""

    @property
    def by_node(self) -> list[int]:
        """All ranks, node by node: the order in which they are drawn."""
        return sorted(range(self.ranks), key=lambda rank: (self.node_of[rank], rank))

    @property
    def tells_nodes(self) -> bool:
        """Whether some node has several ranks, so that it matters what crosses the network."""
        return len(set(self.node_of)) < self.ranks

    def crosses(self, message: Message) -> bool:
        """Whether the message goes from one node to another."""
        return self.node_of[message.sender] != self.node_of[message.receiver]


_Place = tuple[int, int]  # rank, round


@dataclass(frozen=True, slots=True)
class _Match:
    send: tuple[_Place, ActionLike]
    receive: tuple[_Place, ActionLike]


def make_timeline(schedules: Sequence[ScheduleLike], node_of: Sequence[int] | None = None) -> Timeline:
    """The schedules of all ranks, rank 0 first, on one clock; one rank a node unless it is said."""
    rounds = [schedule.rounds for schedule in schedules]
    matches = _match(rounds)
    starts = _start_steps(rounds, matches)
    messages = []
    for match in matches:
        (sender, sending), send = match.send
        (receiver, receiving), receive = match.receive
        step = max(starts[sender][sending], starts[receiver][receiving])
        reduces = receive.kind == "recv_reduce"
        messages.append(
            Message(
                step,
                sender,
                receiver,
                _blocks(send.left),
                _blocks(receive.into),
                reduces,
                arrives_left=reduces and receive.left is None,
            )
        )
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
        for action in actions
        if action.peer < 0
    ]
    messages.sort(key=lambda message: (message.step, message.sender, message.receiver))
    local.sort(key=lambda action: (action.step, action.rank))
    steps = max((start[-1] for start in starts), default=0)
    ranks = len(schedules)
    blocks = schedules[0].blocks if schedules else 0
    return Timeline(
        ranks, blocks, steps, messages, local, list(range(ranks)) if node_of is None else list(node_of)
    )


def _blocks(piece: SliceLike | None) -> Blocks:
    if piece is None:
        raise StrettoError("the schedule has an action without the slice that its kind needs")
    return Blocks.of(piece)


def _match(rounds: Sequence[Sequence[Sequence[ActionLike]]]) -> list[_Match]:
    """Every send with its receive: the n-th from one rank to another with the n-th receive there from it."""
    sends: dict[_Place, list[tuple[_Place, ActionLike]]] = defaultdict(list)
    receives: dict[_Place, list[tuple[_Place, ActionLike]]] = defaultdict(list)
    for rank, own in enumerate(rounds):
        for index, actions in enumerate(own):
            for action in actions:
                if action.kind == "send":
                    sends[rank, action.peer].append(((rank, index), action))
                elif action.peer >= 0:
                    receives[action.peer, rank].append(((rank, index), action))
    matches = []
    for pair in sends.keys() | receives.keys():
        for send, receive in zip_longest(sends[pair], receives[pair]):
            if send is None or receive is None:
                raise StrettoError(f"ranks {pair[0]} and {pair[1]} do not agree on the messages between them")
            matches.append(_Match(send, receive))
    return matches


def _start_steps(rounds: Sequence[Sequence[Sequence[ActionLike]]], matches: list[_Match]) -> list[list[int]]:
    """The step in which each rank comes to each of its rounds, and last the one in which it is through."""
    partners: dict[_Place, list[_Place]] = defaultdict(list)
    for match in matches:
        partners[match.send[0]].append(match.receive[0])
        partners[match.receive[0]].append(match.send[0])
    starts = [[0] * (len(own) + 1) for own in rounds]
    total = sum(map(len, rounds))
    changed = True
    while changed:
        changed = False
        for rank, own in enumerate(rounds):
            for index in range(len(own)):
                begin = max(
                    [starts[rank][index], *(starts[peer][other] for peer, other in partners[rank, index])]
                )
                if begin > total:
                    raise StrettoError("the schedule does not end: ranks wait for each other")
                if starts[rank][index + 1] < begin + 1:
                    starts[rank][index + 1] = begin + 1
                    changed = True
    return starts
