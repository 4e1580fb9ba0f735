# SPDX-License-Identifier: Apache-2.0
"""The collectives that `stretto bench` measures, and the upper bound that the nodes' links set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# A packet of 1514 bytes on the wire carries 1448 of the message.
_TCP_PAYLOAD = 1448 / 1514
# Messages are cut to equal blocks for all ranks, so a little less still counts as that size.
_CUT = 0.999


@dataclass(frozen=True, slots=True)
class _Load:
    """The least that a node's link must carry, in its busier direction."""

    part: Callable[[list[int]], float]
    """The part of the message, by the number of ranks on each node."""
    formula: Callable[[list[int]], str]
    """The factor of the bound beside the link's payload, as text."""
    least_shaped_bytes: int
    """The smallest message that has a bound, since a token bucket lets the first 256 KiB pass unlimited."""


@dataclass(frozen=True, slots=True)
class Collective:
    """An MPI function that can be measured."""

    name: str
    function: str
    algorithms: str
    """The collective whose algorithms carry it out."""
    message: str
    """The buffer whose size counts; empty if there is none."""
    load: _Load
    has_root: bool = False
    goes_in_place: bool = True
    has_lengths: bool = False
    """Whether a call gives a length for each rank."""

    @property
    def has_message(self) -> bool:
        """Whether there is a message, which has a size."""
        return self.message != ""

    def bus_factor(self, ranks: int) -> float:
        """The least part of a message that a rank sends: bus by algorithm bandwidth in nccl-tests."""
        if self.name == "allreduce":
            return 2 * (ranks - 1) / ranks
        return 1.0 if self.load is _MESSAGE else (ranks - 1) / ranks

    def link_part(self, ppn: list[int]) -> float:
        """The least part of a message that a node's link must carry. `ppn`: the ranks of each node."""
        return self.load.part(ppn)


def _other_nodes_part(ppn: list[int]) -> float:
    return 1 - min(ppn) / sum(ppn)


def _other_nodes_formula(ppn: list[int]) -> str:
    if min(ppn) == max(ppn):
        return f" · n/(n-1), n = {len(ppn)} nodes"
    return f" · p/(p-s), p = {sum(ppn)} ranks, s = {min(ppn)} on the smallest of {len(ppn)} nodes"


def _root_node_part(ppn: list[int]) -> float:
    return 1 - max(ppn) / sum(ppn)


def _root_node_formula(ppn: list[int]) -> str:
    if min(ppn) == max(ppn):
        return _other_nodes_formula(ppn)
    return f" · p/(p-s), p = {sum(ppn)} ranks, s = {max(ppn)} on the largest of {len(ppn)} nodes"


def _pairs_part(ppn: list[int]) -> float:
    ranks = sum(ppn)
    return max(on_node * (ranks - on_node) for on_node in ppn) / ranks


def _pairs_formula(ppn: list[int]) -> str:
    ranks = sum(ppn)
    busiest = max(ppn, key=lambda on_node: on_node * (ranks - on_node))
    return f" · p/(s(p-s)), p = {ranks} ranks, s = {busiest} on the busiest of {len(ppn)} nodes"


# Every node's input must reach one place, and the result all nodes: n-1 messages each, over n links.
_REDUCE_AND_SPREAD = _Load(
    lambda ppn: 2 * (len(ppn) - 1) / len(ppn), lambda ppn: f" · n/(2(n-1)), n = {len(ppn)} nodes", 4 << 20
)
# A whole message enters or leaves each node.
_MESSAGE = _Load(lambda _: 1.0, lambda ppn: f", {len(ppn)} nodes", 8 << 20)
# The blocks of all other nodes enter or leave each node.
_OTHER_NODES = _Load(_other_nodes_part, _other_nodes_formula, 8 << 20)
# The blocks of all other nodes enter or leave the root's node, which may be the largest.
_ROOT_NODE = _Load(_root_node_part, _root_node_formula, 8 << 20)
# The blocks that each rank of a node has for each rank of other nodes leave it.
_PAIRS = _Load(_pairs_part, _pairs_formula, 8 << 20)
# There is no message.
_NOTHING = _Load(lambda _: 0.0, lambda _: "", 0)

COLLECTIVES = {
    one.name: one
    for one in (
        Collective("allreduce", "MPI_Allreduce", "allreduce", "the buffer", _REDUCE_AND_SPREAD),
        Collective("bcast", "MPI_Bcast", "bcast", "the buffer", _MESSAGE, has_root=True, goes_in_place=False),
        Collective("reduce", "MPI_Reduce", "reduce", "the buffer", _MESSAGE, has_root=True),
        Collective(
            "reduce_scatter",
            "MPI_Reduce_scatter",
            "reduce_scatter",
            "a rank's input",
            _OTHER_NODES,
            has_lengths=True,
        ),
        Collective(
            "reduce_scatter_block",
            "MPI_Reduce_scatter_block",
            "reduce_scatter",
            "a rank's input",
            _OTHER_NODES,
        ),
        Collective("allgather", "MPI_Allgather", "allgather", "a rank's output", _OTHER_NODES),
        Collective(
            "allgatherv",
            "MPI_Allgatherv",
            "allgather",
            "a rank's output",
            _OTHER_NODES,
            has_lengths=True,
        ),
        Collective("alltoall", "MPI_Alltoall", "alltoall", "a rank's input", _PAIRS),
        Collective("alltoallv", "MPI_Alltoallv", "alltoallv", "a rank's input", _PAIRS, has_lengths=True),
        Collective("alltoallw", "MPI_Alltoallw", "alltoallv", "a rank's input", _PAIRS, has_lengths=True),
        Collective("gather", "MPI_Gather", "gather", "the root's output", _ROOT_NODE, has_root=True),
        Collective(
            "gatherv",
            "MPI_Gatherv",
            "gatherv",
            "the root's output",
            _ROOT_NODE,
            has_root=True,
            has_lengths=True,
        ),
        Collective("scatter", "MPI_Scatter", "scatter", "the root's input", _ROOT_NODE, has_root=True),
        Collective(
            "scatterv",
            "MPI_Scatterv",
            "scatterv",
            "the root's input",
            _ROOT_NODE,
            has_root=True,
            has_lengths=True,
        ),
        Collective("scan", "MPI_Scan", "scan", "the buffer", _MESSAGE),
        Collective("exscan", "MPI_Exscan", "exscan", "the buffer", _MESSAGE),
        Collective("barrier", "MPI_Barrier", "barrier", "", _NOTHING, goes_in_place=False),
    )
}


@dataclass(frozen=True, slots=True)
class LinkBound:
    """The upper bound on a collective's bandwidth, if the nodes' links limit it."""

    rate: float
    """Bytes per second on a node's link."""
    collective: Collective
    ppn: list[int]
    """Ranks of each node."""
    least_bytes: int = 0
    """Below this message size the bound is not stated."""
    with_headers: bool = True
    """Whether the rate includes the packets' headers; if not, it is the rate of a ping-pong."""

    @classmethod
    def for_lab(cls, rate: float, collective: Collective, ppn: list[int]) -> LinkBound:
        """The bound on an emulated cluster, whose links are shaped by a token bucket."""
        return cls(rate, collective, ppn, collective.load.least_shaped_bytes)

    @property
    def formula(self) -> str:
        """The factors after the link's rate, with the meaning of their letters."""
        payload = " · 1448/1514" if self.with_headers else ""
        return f"{payload}{self.collective.load.formula(self.ppn)}"

    def bandwidth(self, size: int) -> float | None:
        """The bound on the algorithm bandwidth in bytes per second; None if it is not stated."""
        if len(self.ppn) < 2 or size < _CUT * self.least_bytes:
            return None
        part = self.collective.link_part(self.ppn)
        if part == 0:
            return None
        payload = _TCP_PAYLOAD if self.with_headers else 1.0
        return self.rate * payload / part
