# SPDX-License-Identifier: Apache-2.0
"""Reads topologies that options name, and lists those on which `stretto verify` proves algorithms."""

from __future__ import annotations

import functools
import random
import shlex
from pathlib import Path

from stretto._core import Topology
from stretto.support.errors import StrettoError

_MOST_RANDOM_RANKS = 32


def flat_text(ranks: int) -> str:
    """The text of a topology with one rank on each node."""
    return f"nodes={ranks},ppn=1"


def topology_text(
    topology: str | None, ranks: int | None, nodes: int | None, ppn: int | None, usual_ranks: int
) -> str:
    """The text of the topology that the options name: --topology, --nodes and --ppn, or --ranks."""
    given = [topology is not None, nodes is not None or ppn is not None, ranks is not None]
    if sum(given) > 1:
        raise StrettoError("give --topology, or --nodes and --ppn, or --ranks: one of them")
    if topology is not None:
        return read_topology_text(topology)
    if nodes is not None or ppn is not None:
        return f"nodes={nodes or 1},ppn={ppn or 1}"
    return flat_text(ranks or usual_ranks)


def read_topology_text(option: str) -> str:
    """The text that --topology gives, itself or in a file. The syntax is that of STRETTO_TOPOLOGY."""
    if "\n" in option or not Path(option).is_file():
        return option
    try:
        return Path(option).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StrettoError(f"--topology {option}: it cannot be read: {error}") from None


@functools.lru_cache(maxsize=4)
def parse_topology(text: str) -> Topology:
    """The topology that a text describes. The last few are cached, since a million ranks take a while."""
    try:
        return Topology(text)
    except ValueError as error:
        raise StrettoError(str(error)) from None


def as_option(text: str) -> str:
    """The option for a shell: `--topology nodes=2,ppn=4`."""
    if "\n" in text:
        return "--topology $'" + text.replace("\n", "\\n") + "'"
    return f"--topology {shlex.quote(text)}"


def telling_topologies(count: int) -> list[str]:
    """`count` topologies, always the same: square, one node, ragged, mapped by node, with sockets, random."""
    counts = (2, 3, 4, 5, 7, 8)
    square = [f"nodes={nodes},ppn={ppn}" for nodes in counts for ppn in counts]
    one_node = [f"nodes=1,ppn={ppn}" for ppn in (2, 3, 4, 5, 7, 8, 13, 16, 32)]
    ragged = [f"ppn={ppn}" for ppn in ("2+1", "1+2", "4+4+1", "1+4+4", "5+1+1+1+1+1", "1+2+3+4+5", "8+8+8+7")]
    sockets = [
        f"nodes={nodes},ppn={ppn},sockets={sockets},numas={numas}"
        for nodes, ppn in ((1, 8), (2, 8), (3, 6), (4, 4))
        for sockets, numas in ((2, 1), (2, 2), (3, 1))
    ]
    by_node = [f"{text},mapping=by_node" for text in square + ragged + sockets]
    fixed = [*square, *one_node, *ragged, *sockets, *by_node]
    source = random.Random(1)
    while len(fixed) < count:
        fixed.append(_random_text(source))
    return fixed[:count]


def _random_text(source: random.Random) -> str:
    kind = source.randrange(3)
    nodes = source.randint(1, 8)
    if kind == 0:
        ppn = "+".join(str(source.randint(1, 6)) for _ in range(nodes))
        mapping = source.choice(("by_slot", "by_node"))
        return f"ppn={ppn},sockets={source.randint(1, 3)},numas={source.randint(1, 2)},mapping={mapping}"
    ranks = source.randint(nodes, _MOST_RANDOM_RANKS)
    labels = [source.randrange(nodes) for _ in range(ranks)]
    if kind == 1:
        return "map=" + ",".join(map(str, labels))
    # Only a line for each rank can describe ranks that alternate between sockets, or any other order.
    return "\n".join(f"node{label} s{source.randrange(2)} m{source.randrange(2)}" for label in labels)
