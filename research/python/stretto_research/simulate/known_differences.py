# SPDX-License-Identifier: Apache-2.0
"""Calls on which the schedule walker and SimGrid's SMPI are known to disagree, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SIZES = (8, 1 << 10, 64 << 10, 1 << 20, 16 << 20)


@dataclass(frozen=True, slots=True)
class Case:
    """A call of a collective by one spec, on some nodes of a machine."""

    machine: str
    collective: str
    spec: str
    nodes: int
    ppn: int
    sizes: tuple[int, ...] = SIZES

    @property
    def topology(self) -> str:
        """The topology as the text of an option."""
        return f"nodes={self.nodes},ppn={self.ppn}"


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds of a call by SMPI, the walker and the formula."""

    case: Case
    bytes: int
    smpi: float
    walker: float
    formula: float | None
    """None if the papers have no formula."""

    @property
    def walker_off(self) -> float:
        """The relative difference between the walker and SMPI: 0.5 is 50 % longer."""
        return self.walker / self.smpi - 1

    @property
    def formula_off(self) -> float | None:
        """The relative difference between the formula and SMPI."""
        return None if self.formula is None else self.formula / self.smpi - 1


@dataclass(frozen=True, slots=True)
class Known:
    """The reason why the walker and SMPI disagree on some calls of an algorithm."""

    collective: str
    spec: str
    condition: str
    """The calls, in words."""
    holds: Callable[[Case, int], bool]
    """Whether a case with a number of bytes is one of these calls."""
    reason: str
    example: tuple[int, int, int]
    """The nodes, the ranks on each node, and the bytes of a call that shows the difference."""

    def explains(self, row: Row) -> bool:
        """Whether the row is one of these calls."""
        return (self.collective, self.spec) == (row.case.collective, row.case.spec) and self.holds(
            row.case, row.bytes
        )


_AT_ONCE = (
    "SMPI shares links evenly among all messages in flight: short messages that a rank sends ahead to "
    "another all arrive when the last one does, so that no pipeline starts; the walker, like MPI over one "
    "connection, sends them one after the other"
)
_SENT_AHEAD = (
    "short messages are in flight before any rank waits for them: in SMPI they slow down the message that "
    "a rank waits for; the walker serves that one first"
)
_TWO_EXCHANGES = (
    "the last of an odd number of ranks has two exchanges at once: SMPI completes both at the end, the "
    "walker one of them half-way"
)
_NO_PORT = (
    "in SMPI a rank has no port: several messages of one rank at once are each as fast as a single one, and "
    "messages inside a node share no resource"
)
_SEGMENTS_MEET = (
    "messages of several segments meet at a rank: the walker serves them in the order in which they come, "
    "and the later segments delay the earlier ones; SMPI shares links evenly"
)
_COPIES = "the walker counts copies inside a rank, as long as reductions; in SMPI they take no time"


def _bytes(least: int, most: int, least_nodes: int = 2) -> Callable[[Case, int], bool]:
    return lambda case, size: least <= size <= most and case.nodes >= least_nodes


def _nine_ranks(case: Case, size: int) -> bool:
    return case.nodes == 9 and size == _64K


def _short_blocks(case: Case, size: int) -> bool:
    return size >= _64K and size < _64K * case.nodes


def _short_blocks_of_trees(
    segments: int,
) -> tuple[str, Callable[[Case, int], bool], str, tuple[int, int, int]]:
    def holds(case: Case, size: int) -> bool:
        return _64K <= size < _64K * segments * (case.nodes - 1).bit_length()

    return ("blocks below 64 KiB", holds, _SENT_AHEAD, (9, 1, _64K))


def _fifteen_ranks(case: Case, size: int) -> bool:
    return case.nodes == 15 and size >= 15 * _64K


_64K = 64 << 10
_1M = 1 << 20
_16M = 16 << 20
_LONGER = _bytes(_64K, 1 << 40)
_PACKED = _bytes(_64K - 64, 1 << 40)
_SHORT_SEGMENTS = ("64 KiB", _bytes(_64K, _64K), _AT_ONCE, (8, 1, _64K))
_LATE = ("64 KiB, 9 ranks", _nine_ranks, _SENT_AHEAD, (9, 1, _64K))
_OF_NODES = ("from 64 KiB on", _LONGER, _NO_PORT, (2, 8, _16M))

KNOWN = (
    Known("allreduce", "rabenseifner", *_LATE),
    Known("allreduce", "rabenseifner:segments=4", *_LATE),
    Known("allreduce", "swing", *_LATE),
    Known("allreduce", "circulant:segments=4", "1 MiB", _bytes(_1M, _1M), _SENT_AHEAD, (9, 1, _1M)),
    Known(
        "allreduce",
        "pre_reduced_ring:late=0",
        "16 MiB, from 16 ranks on",
        _bytes(_16M, _16M, 16),
        _SENT_AHEAD,
        (16, 1, _16M),
    ),
    Known("reduce_scatter", "recursive_halving", *_LATE),
    Known("bcast", "binomial:segments=4", *_SHORT_SEGMENTS),
    Known("bcast", "chain:segments=4", *_SHORT_SEGMENTS),
    Known("reduce", "chain:segments=4", *_SHORT_SEGMENTS),
    Known("bcast", "scatter_allgather", "blocks below 64 KiB", _short_blocks, _AT_ONCE, (32, 1, _1M)),
    Known("bcast", "scatter_recursive_doubling", *_SHORT_SEGMENTS),
    Known("bcast", "circulant", *_short_blocks_of_trees(1)),
    Known("bcast", "circulant:segments=4", *_short_blocks_of_trees(4)),
    Known("bcast", "circulant:segments=4", "16 MiB", _bytes(_16M, _16M), _SEGMENTS_MEET, (8, 1, _16M)),
    Known("reduce", "circulant", *_short_blocks_of_trees(1)),
    Known("reduce", "circulant:segments=4", *_short_blocks_of_trees(4)),
    Known(
        "allgather",
        "ring:segments=4",
        "1 MiB, 15 ranks and more",
        _bytes(_1M - 32, _1M, 15),
        _AT_ONCE,
        (32, 1, _1M),
    ),
    Known(
        "allgather",
        "neighbor_exchange",
        "from 1 MiB on, 15 ranks",
        _fifteen_ranks,
        _TWO_EXCHANGES,
        (15, 1, _16M),
    ),
    Known("reduce_scatter", "multilane", "from 64 KiB on", _LONGER, _NO_PORT, (4, 4, _16M)),
    Known("allgather", "multilane", *_OF_NODES),
    *(
        Known(collective, spec, *_OF_NODES)
        for collective in ("alltoall", "alltoallv")
        for spec in (
            "smp(linear:radix=33)",
            "multileader(linear:radix=33):radix=2",
            "multilane(linear:radix=33)",
        )
    ),
    *(
        Known(collective, "bruck:radix=2", "from 64 KiB on", _PACKED, _COPIES, (8, 1, _16M))
        for collective in ("alltoall", "alltoallv")
    ),
    *(Known(collective, "smp", *_OF_NODES) for collective in ("gather", "gatherv", "scatter", "scatterv")),
    *(
        Known(
            collective,
            "binomial",
            "64 KiB, 8 ranks and more",
            _bytes(_64K - 64, _64K, 8),
            _SENT_AHEAD,
            (16, 1, _64K),
        )
        for collective in ("scatter", "scatterv")
    ),
    Known("scan", "chain:segments=4", *_SHORT_SEGMENTS),
    Known("exscan", "chain:segments=4", *_SHORT_SEGMENTS),
    Known("exscan", "chain:segments=4", "from 1 MiB on", _bytes(_1M, 1 << 40), _COPIES, (4, 1, _16M)),
)
"""All differences above the tolerance between the walker and SMPI, in all cases of the comparison."""
