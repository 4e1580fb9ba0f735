# SPDX-License-Identifier: Apache-2.0
"""Clusters to simulate: a machine's figures and the wiring of its nodes, as SimGrid's XML.

The figures come from a machine file (docs/formats.md), so that the schedule walker and the simulation
describe one cluster. What SimGrid's XML cannot express is written as properties of the hosts
(src/simulate/host.hpp).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from stretto._core import Machine
from stretto.model.walker import load_machine
from stretto.support.errors import StrettoError
from stretto_research.simulate.fabrics import Dragonfly, Fabric, FatTree, Torus

_HOST_SPEED = "1Gf"
"""Arbitrary: computation is charged as time, not as a number of operations."""
_SYNCHRONOUS_FROM = 64 << 10
"""The rendezvous threshold in bytes, if the machine file does not give one."""
_USUAL_NODES = 8


@dataclass(frozen=True, slots=True)
class _Known:
    """A built-in cluster. Its machine file has the same name."""

    fabric: Fabric
    nodes: int
    cores: int
    hop: float


# Figures of the papers' clusters that are not in the machine files. research/docs/simulation.md marks those
# that are estimates.
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
    """Returns the names of the built-in platforms."""
    return list(_KNOWN)


@dataclass(frozen=True, slots=True)
class Platform:
    """A cluster for SimGrid."""

    name: str
    description: str
    xml: str
    hosts: tuple[str, ...]
    """One host per node, in the order in which ranks fill them."""
    machine: Machine | None = None
    """The machine for the schedule walker; None for a user's XML file."""


def load_platform(name: str, nodes: int | None = None, *, with_engine: bool = False) -> Platform:
    """Returns the built-in platform of that name with `nodes` nodes, or the platform of an XML file.

    Without `nodes`, a built-in platform has as many nodes as the real cluster. `with_engine` charges the
    engine costs of the built-in machine. They are estimates that come from no paper, and MPI libraries have
    costs of their own.

    Raises StrettoError if the name is neither a built-in platform nor a readable file, or the file has no
    hosts.
    """
    if name not in _KNOWN:
        return _read_platform(name)
    known = _KNOWN[name]
    wiring = Wiring(known.fabric, known.cores, known.hop, with_engine)
    return build_platform(load_machine(name), nodes or known.nodes, wiring)


def platform_of_machine(machine: Machine, nodes: int, ppn: int) -> Platform:
    """Returns a platform with a machine's figures, measured by `stretto calibrate` or written by hand."""
    return build_platform(machine, nodes, Wiring(FatTree(64), ppn, hop=0.0, with_engine=True))


def find_platform(name: str | None, machine: str | None, nodes: int | None, ppn: int) -> tuple[Platform, int]:
    """Returns the platform and the number of nodes for --platform, --from-machine and --nodes."""
    if name is not None and machine is not None:
        raise StrettoError("give --platform or --from-machine, not both")
    if machine is not None:
        nodes = nodes or _USUAL_NODES
        return platform_of_machine(load_machine(machine, nodes), nodes, ppn), nodes
    found = load_platform(name or "altec", nodes)
    return found, nodes or min(len(found.hosts), _USUAL_NODES)


@dataclass(frozen=True, slots=True)
class Wiring:
    """The properties of a platform that a machine's figures do not have."""

    fabric: Fabric
    cores: int
    """Cores of a node."""
    hop: float
    """The latency in seconds of each link except the first and the last."""
    with_engine: bool
    """Whether the machine's engine costs are charged."""


def build_platform(machine: Machine, nodes: int, wiring: Wiring) -> Platform:
    """Returns the platform of a cluster of equal nodes."""
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
    """Returns the rendezvous threshold of all levels. Messages from this size on wait for their receive."""
    return min(
        (one.begin for one in machine.protocols("network") if one.synchronous), default=_SYNCHRONOUS_FROM
    )


def _settings(machine: Machine) -> dict[str, str]:
    eager = synchronous_from(machine)
    return {
        # SimGrid's default lets traffic in one direction slow down the other (TCP's acknowledgements), which
        # would cap a full-duplex ring.
        "network/crosstraffic": "0",
        # A TCP window would limit a flow's bandwidth on fast networks.
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
    """Returns the latency, or 1 ns in place of 0, since SimGrid multiplies the latency by a factor."""
    return latency or 1e-9


def _read_platform(name: str) -> Platform:
    file = Path(name)
    try:
        text = file.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise StrettoError(
            f"--platform {name}: {what}; expected a file of SimGrid's XML, or one of "
            f"{', '.join(platform_names())}"
        ) from None
    except ElementTree.ParseError as error:
        raise StrettoError(f"--platform {name}: not XML: {error}") from None
    hosts: list[str] = []
    for element in root.iter():
        if element.tag == "host":
            hosts.append(element.get("id", ""))
        elif element.tag == "cluster":
            hosts += _hosts_of_cluster(element, name)
    if not hosts:
        raise StrettoError(f"--platform {name}: the file has no <host> and no <cluster>")
    return Platform(file.stem, f"the platform of {file.name}", text, tuple(hosts))


def _hosts_of_cluster(cluster: ElementTree.Element, name: str) -> list[str]:
    """Returns hosts' names: prefix "n", radical "0-1,7", suffix ".org" give n0.org, n1.org, n7.org."""
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
