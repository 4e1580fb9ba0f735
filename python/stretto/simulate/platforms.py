# SPDX-License-Identifier: Apache-2.0
"""Clusters to simulate: a machine's figures and how its nodes are wired, as SimGrid's XML.

The figures are a machine file's (docs/formats.md), so that the schedule walker and the simulation speak of
one cluster. What SimGrid's XML has no words for stands in properties of the hosts (src/simulate/host.hpp).
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from stretto._core import Machine
from stretto.model.walker import load_machine
from stretto.support.errors import StrettoError

_HOST_SPEED = "1Gf"
"""Of no account: what computes does so for a time, not for a number of operations."""
_SYNCHRONOUS_FROM = 64 << 10
"""Where the machine does not say from how many bytes on messages wait for their receive."""


class Fabric(ABC):
    """How nodes are wired."""

    @property
    @abstractmethod
    def description(self) -> str:
        """A few words."""

    @abstractmethod
    def shape(self, nodes: int) -> tuple[int, dict[str, str]]:
        """For so many nodes or more: how many there are then, and what SimGrid's cluster is told."""

    def link_bandwidth(self, node_bandwidth: float) -> float:
        """Bytes per second of a link, in each direction."""
        return node_bandwidth

    def limiter(self, node_bandwidth: float) -> float | None:
        """What a node takes in and gives off, together, where its links could do more."""
        del node_bandwidth
        return None


@dataclass(frozen=True, slots=True)
class FatTree(Fabric):
    """Switches with as many links up as down: whoever talks to whom, nobody is in the way."""

    ports: int
    """Of a switch."""

    @property
    def description(self) -> str:
        """A few words."""
        return f"fat tree of switches with {self.ports} ports"

    def shape(self, nodes: int) -> tuple[int, dict[str, str]]:
        """One switch while it has ports enough, then two levels of them."""
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
    """Groups of routers, each router linked to all others of its group and each group to all others."""

    nodes_of_router: int
    routers_of_group: int
    links_between_groups: int

    @property
    def description(self) -> str:
        """A few words."""
        return f"dragonfly of groups of {self.nodes_of_router * self.routers_of_group} nodes"

    def shape(self, nodes: int) -> tuple[int, dict[str, str]]:
        """As many groups as are needed."""
        groups = math.ceil(nodes / (self.nodes_of_router * self.routers_of_group))
        parameters = (
            f"{groups},{self.links_between_groups};1,1;{self.routers_of_group},1;{self.nodes_of_router}"
        )
        return groups * self.nodes_of_router * self.routers_of_group, _topology("DRAGONFLY", parameters)


@dataclass(frozen=True, slots=True)
class Torus(Fabric):
    """Three dimensions, as near to a cube as the number of nodes allows; messages pass nodes on their way."""

    bandwidth: float
    """Bytes per second of a link, in each direction."""

    @property
    def description(self) -> str:
        """A few words."""
        return "torus of three dimensions"

    def shape(self, nodes: int) -> tuple[int, dict[str, str]]:
        """The least box that holds them, and of those the one most like a cube."""
        edge = max(1, round(nodes ** (1 / 3)))
        boxes = [
            (x, y, math.ceil(nodes / (x * y)))
            for x in range(max(1, edge - 2), edge + 3)
            for y in range(x, edge + 4)
        ]
        box = min(boxes, key=lambda box: (math.prod(box), max(box) - min(box)))
        # SimGrid knows no dimension of one node, nor a torus of one.
        lengths = [length for length in box if length > 1] or [2]
        return math.prod(lengths), _topology("TORUS", ",".join(map(str, lengths)))

    def link_bandwidth(self, node_bandwidth: float) -> float:
        """Of its own, not a node's."""
        del node_bandwidth
        return self.bandwidth

    def limiter(self, node_bandwidth: float) -> float | None:
        """SimGrid's limiter is one for both directions."""
        return 2 * node_bandwidth


def _topology(name: str, parameters: str) -> dict[str, str]:
    return {"topology": name, "topo_parameters": parameters}


@dataclass(frozen=True, slots=True)
class _Known:
    """A cluster that is built in. Its machine has the same name."""

    fabric: Fabric
    nodes: int
    cores: int
    hop: float


# Figures of the papers' clusters that are no machine's; what no paper has is said to be an estimate in
# docs/simulation.md.
_KNOWN = {
    "altec": _Known(FatTree(36), nodes=9, cores=28, hop=1e-7),
    "qdr": _Known(FatTree(36), nodes=15, cores=12, hop=1e-7),
    "marconi100": _Known(Dragonfly(4, 4, 2), nodes=32, cores=32, hop=1e-7),
    "bluewaters": _Known(Torus(9.6e9), nodes=64, cores=16, hop=1e-7),
    "ethernet25": _Known(FatTree(48), nodes=16, cores=64, hop=3e-7),
    "ethernet100": _Known(FatTree(64), nodes=16, cores=64, hop=3e-7),
    "cloud": _Known(FatTree(64), nodes=16, cores=64, hop=1e-6),
}


def platform_names() -> list[str]:
    """The platforms that are built in."""
    return list(_KNOWN)


@dataclass(frozen=True, slots=True)
class Platform:
    """A cluster for SimGrid."""

    name: str
    description: str
    xml: str
    hosts: tuple[str, ...]
    """One a node, in the order in which ranks fill them."""
    machine: Machine | None = None
    """What the walker knows it as; None of a file of others."""


def load_platform(name: str, nodes: int | None = None, *, with_engine: bool = False) -> Platform:
    """A platform that is built in, for so many nodes (as many as the real one has unless given), or a file's.

    What the engine adds on those that are built in is an estimate, in no paper, and the libraries add
    something too: it is left out unless asked for.

    Raises StrettoError for a name that is neither, and for a file that names no hosts.
    """
    if name not in _KNOWN:
        return _read_platform(name)
    known = _KNOWN[name]
    wiring = Wiring(known.fabric, known.cores, known.hop, with_engine)
    return build_platform(load_machine(name), nodes or known.nodes, wiring)


def platform_of_machine(machine: Machine, nodes: int, ppn: int) -> Platform:
    """A platform with a machine's figures, calibrated or thought of."""
    return build_platform(machine, nodes, Wiring(FatTree(64), ppn, hop=0.0, with_engine=True))


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a platform has beside a machine's figures."""

    fabric: Fabric
    cores: int
    """Of a node."""
    hop: float
    """Seconds that a link costs beyond the first and the last one."""
    with_engine: bool
    """Whether what the machine says that the engine adds is charged."""


def build_platform(machine: Machine, nodes: int, wiring: Wiring) -> Platform:
    """A cluster of equal nodes."""
    count, shape = wiring.fabric.shape(nodes)
    description = f"{machine.description}; {wiring.fabric.description}"
    properties = "".join(
        f"    <prop id={quoteattr(name)} value={quoteattr(value)}/>\n"
        for name, value in _properties(machine, wiring).items()
    )
    settings = "".join(
        f"    <prop id={quoteattr(name)} value={quoteattr(value)}/>\n"
        for name, value in _settings(machine).items()
    )
    attributes = _attributes(machine, wiring, count) | shape
    cluster = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())
    xml = (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f"<!-- {description.replace('--', '-')} -->\n"
        '<platform version="4.1">\n'
        f"  <config>\n{settings}  </config>\n"
        f"  <cluster {cluster}>\n{properties}  </cluster>\n"
        "</platform>\n"
    )
    hosts = tuple(f"node-{index}" for index in range(count))
    return Platform(machine.name, description, xml, hosts, machine)


def synchronous_from(machine: Machine) -> int:
    """Messages of so many bytes and more set out when their receive is posted, on whatever way they go."""
    return min(
        (one.begin for one in machine.protocols("network") if one.synchronous), default=_SYNCHRONOUS_FROM
    )


def _settings(machine: Machine) -> dict[str, str]:
    eager = synchronous_from(machine)
    return {
        # The usual model lets what goes one way slow down what comes the other way (TCP's acknowledgements),
        # by which a full-duplex ring would be capped.
        "network/crosstraffic": "0",
        # A window would limit what a flow gets on fast networks.
        "network/TCP-gamma": "0",
        "smpi/async-small-thresh": str(eager),
        "smpi/send-is-detached-thresh": str(eager),
    }


def _attributes(machine: Machine, wiring: Wiring, count: int) -> dict[str, str]:
    network, node = machine.protocols("network"), machine.protocols("node")
    node_bandwidth = machine.node_bandwidth or max(one.bandwidth for one in network)
    limiter = wiring.fabric.limiter(node_bandwidth)
    return {
        "id": "cluster",
        "prefix": "node-",
        "suffix": "",
        "radical": f"0-{count - 1}",
        "speed": _HOST_SPEED,
        "core": str(wiring.cores),
        "bw": f"{wiring.fabric.link_bandwidth(node_bandwidth):g}Bps",
        "lat": f"{_positive(network[0].latency) / 2:g}s",
        "sharing_policy": "SPLITDUPLEX",
        "loopback_bw": f"{max(one.bandwidth for one in node):g}Bps",
        "loopback_lat": f"{_positive(node[0].latency):g}s",
        **({"limiter_link": f"{limiter:g}Bps"} if limiter else {}),
    }


def _properties(machine: Machine, wiring: Wiring) -> dict[str, str]:
    def rows(level: str) -> str:
        return ";".join(f"{one.begin}:{one.latency:g}:{one.bandwidth:g}" for one in machine.protocols(level))

    return {
        "stretto/network": rows("network"),
        "stretto/node": rows("node"),
        "stretto/hop": f"{wiring.hop:g}",
        **(
            {"stretto/reduction": ";".join(f"{begin}:{rate:g}" for begin, rate in machine.reduction_rates)}
            if machine.reduction_rates
            else {}
        ),
        **(
            {
                "stretto/message": f"{machine.engine_message:g}",
                "stretto/round": f"{machine.engine_round:g}",
            }
            if wiring.with_engine
            else {}
        ),
    }


def _positive(latency: float) -> float:
    """A factor makes nothing of a latency of 0."""
    return latency or 1e-9


def _read_platform(name: str) -> Platform:
    file = Path(name)
    try:
        text = file.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is no text"
        raise StrettoError(
            f"--platform {name}: {what}; expected a file of SimGrid's XML, or one of "
            f"{', '.join(platform_names())}"
        ) from None
    except ElementTree.ParseError as error:
        raise StrettoError(f"--platform {name}: no XML: {error}") from None
    hosts: list[str] = []
    for element in root.iter():
        if element.tag == "host":
            hosts.append(element.get("id", ""))
        elif element.tag == "cluster":
            hosts += _hosts_of_cluster(element, name)
    if not hosts:
        raise StrettoError(f"--platform {name}: there is no <host> and no <cluster> in it")
    return Platform(file.stem, f"the platform of {file.name}", text, tuple(hosts))


def _hosts_of_cluster(cluster: ElementTree.Element, name: str) -> list[str]:
    """`<cluster prefix="n" radical="0-2,7" suffix=".org">` has n0.org, n1.org, n2.org and n7.org."""
    hosts = []
    for part in cluster.get("radical", "").split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if match is None:
            raise StrettoError(
                f"--platform {name}: <cluster>: cannot read radical {cluster.get('radical')!r}"
            )
        first, last = int(match[1]), int(match[2] or match[1])
        hosts += [
            f"{cluster.get('prefix', '')}{index}{cluster.get('suffix', '')}"
            for index in range(first, last + 1)
        ]
    return hosts
