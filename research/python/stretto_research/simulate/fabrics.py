# SPDX-License-Identifier: Apache-2.0
"""The wiring of a simulated cluster's nodes: fat trees, dragonflies and tori in SimGrid's terms."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from stretto.support.errors import StrettoError


class Fabric(ABC):
    """A wiring of nodes."""

    @property
    @abstractmethod
    def description(self) -> str:
        """A short description for people."""

    @abstractmethod
    def shape(self, nodes: int) -> tuple[int, dict[str, str]]:
        """Returns a number of nodes, at least `nodes`, and the attributes of SimGrid's <cluster>."""

    def link_bandwidth(self, node_bandwidth: float) -> float:
        """Returns the bandwidth of a link in each direction, in bytes per second."""
        return node_bandwidth

    def limiter(self, node_bandwidth: float) -> float | None:
        """Returns the limit of a node's traffic in both directions together, if links could carry more."""
        del node_bandwidth
        return None


@dataclass(frozen=True, slots=True)
class FatTree(Fabric):
    """Switches with as many links up as down, so that no traffic pattern causes congestion."""

    ports: int
    """Number of ports of a switch."""

    @property
    def description(self) -> str:
        """A short description for people."""
        return f"fat tree of switches with {self.ports} ports"

    def shape(self, nodes: int) -> tuple[int, dict[str, str]]:
        """Returns the shape of one switch if it has enough ports, or of two levels of switches."""
        if nodes <= self.ports:
            return nodes, _topology("FAT_TREE", f"1;{nodes};1;1")
        down = self.ports // 2
        leaves = math.ceil(nodes / down)
        if leaves > self.ports:
            raise StrettoError(
                f"--nodes {nodes}: a fat tree of {self.ports} ports a switch has {down * self.ports} at most"
            )
        return leaves * down, _topology("FAT_TREE", f"2;{down},{leaves};1,{down};1,1")


@dataclass(frozen=True, slots=True)
class Dragonfly(Fabric):
    """Groups of routers: each router is linked to all others of its group, each group to all other groups."""

    nodes_of_router: int
    routers_of_group: int
    links_between_groups: int

    @property
    def description(self) -> str:
        """A short description for people."""
        return f"dragonfly of groups of {self.nodes_of_router * self.routers_of_group} nodes"

    def shape(self, nodes: int) -> tuple[int, dict[str, str]]:
        """Returns the shape of as many groups as the nodes need."""
        groups = math.ceil(nodes / (self.nodes_of_router * self.routers_of_group))
        parameters = (
            f"{groups},{self.links_between_groups};1,1;{self.routers_of_group},1;{self.nodes_of_router}"
        )
        return groups * self.nodes_of_router * self.routers_of_group, _topology("DRAGONFLY", parameters)


@dataclass(frozen=True, slots=True)
class Torus(Fabric):
    """Three dimensions, as close to a cube as the number of nodes allows; nodes forward messages."""

    bandwidth: float
    """Bandwidth of a link in each direction, in bytes per second."""

    @property
    def description(self) -> str:
        """A short description for people."""
        return "torus of three dimensions"

    def shape(self, nodes: int) -> tuple[int, dict[str, str]]:
        """Returns the smallest box that holds the nodes; of several, the box that is closest to a cube."""
        edge = max(1, round(nodes ** (1 / 3)))
        boxes = [
            (x, y, math.ceil(nodes / (x * y)))
            for x in range(max(1, edge - 2), edge + 3)
            for y in range(x, edge + 4)
        ]
        box = min(boxes, key=lambda box: (math.prod(box), max(box) - min(box)))
        # SimGrid accepts no dimension of length 1, and no torus of one node.
        lengths = [length for length in box if length > 1] or [2]
        return math.prod(lengths), _topology("TORUS", ",".join(map(str, lengths)))

    def link_bandwidth(self, node_bandwidth: float) -> float:
        """Returns the link's own bandwidth, whatever the node's bandwidth is."""
        del node_bandwidth
        return self.bandwidth

    def limiter(self, node_bandwidth: float) -> float | None:
        """Returns twice the node's bandwidth, since SimGrid's limiter covers both directions together."""
        return 2 * node_bandwidth


def _topology(name: str, parameters: str) -> dict[str, str]:
    return {"topology": name, "topo_parameters": parameters}
