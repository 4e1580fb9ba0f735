# SPDX-License-Identifier: Apache-2.0
"""Finds and reads fabric files (docs/formats.md), which hold what jobs have found out about a network.

Stretto's library reads them in C++. So does this module, by the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stretto import _core
from stretto.spec.native import SOCKETS
from stretto.support.errors import StrettoError
from stretto.support.units import format_bandwidth, format_bytes, format_count, format_percent, format_seconds

LATEST = "latest"
"""The name that stands for the file that a job wrote last."""
NOTHING_KNOWN = "the first job with larger calls between nodes measures its network"
NOTHING_KEPT = "jobs neither keep nor use findings (STRETTO_FABRIC=none)"
_SETTING = "STRETTO_FABRIC"


@dataclass(frozen=True, slots=True)
class Link:
    """The link between two ranks on different nodes."""

    latency: float
    """Seconds that a tiny message takes, with the work of both cores."""
    bandwidth: float
    """Bytes per second of a long message."""


@dataclass(frozen=True, slots=True)
class FabricFile:
    """What jobs have found out about a network, and the file that holds it."""

    path: Path
    fabric: _core.Fabric

    @property
    def family(self) -> str:
        """The MPI family: openmpi, mpich or intelmpi, or sockets for jobs without MPI."""
        name = _core.parse_library_name(self.fabric.mpi)
        return name[0] if name else "openmpi"

    @property
    def has_library(self) -> bool:
        """Whether the jobs have an MPI library."""
        return self.family != SOCKETS

    def machine_for(self, nodes: int) -> _core.Machine:
        """The machine that was measured. Raises StrettoError if no job has measured it for these nodes."""
        measured = self.fabric.measured
        if measured is None:
            raise StrettoError(f"{self.path}: no job has measured this network; give --machine, too")
        if nodes > 1 and measured.nodes < 2:
            raise StrettoError(
                f"{self.path}: {self.measured_text}, so it has no figures for links between nodes; "
                "give --nodes 1, or --machine, too"
            )
        return measured.machine

    @property
    def link(self) -> Link | None:
        """The link between nodes; None if no job has measured it."""
        measured = self.fabric.measured
        if measured is None or measured.nodes < 2:
            return None
        machine = measured.machine
        rows = machine.protocols("network")
        limits = [rows[-1].bandwidth, rows[-1].core, machine.node_bandwidth]
        return Link(rows[0].latency + 2 * machine.engine_message, min(limit for limit in limits if limit))

    @property
    def measured_text(self) -> str:
        """The date of the measurement and the number of its nodes, in words, or that there was none."""
        measured = self.fabric.measured
        if measured is None:
            return "not measured yet"
        where = "inside one node" if measured.nodes < 2 else f"between {measured.nodes} nodes"
        return " ".join(["measured", *([measured.when] if measured.when else []), where])

    @property
    def speed_text(self) -> str:
        """When it was measured, with the latency and the bandwidth between nodes, in plain units."""
        link = self.link
        if link is None:
            return self.measured_text
        bandwidth = f"{format_bandwidth(link.bandwidth)} MB/s"
        return f"{self.measured_text}: latency {format_seconds(link.latency)}, bandwidth {bandwidth}"

    @property
    def network_text(self) -> str:
        """The network, its measured speed, and the file that holds it, in words."""
        return f"network: {self.fabric.mpi}, hosts {self.fabric.hosts}, {self.speed_text} ({self.path})"

    @property
    def connections_text(self) -> str:
        """The messages that Stretto's own connections carry, and how many share one; empty if none do."""
        measured = self.fabric.measured
        if measured is None:
            return ""
        parts = []
        if measured.connections_from:
            least = format_bytes(measured.connections_from)
            parts.append(f"connections of Stretto's own carry messages of {least} and more")
        if measured.streams > 1:
            parts.append(f"{measured.streams} connections to a rank share long messages")
        return "; ".join(parts)

    @property
    def busy_text(self) -> str:
        """A note if the network was measured on a busy machine, with the consequences; else empty."""
        measured = self.fabric.measured
        if measured is None or not measured.is_busy:
            return ""
        share = format_percent(measured.busy)
        return (
            f"measured on a busy machine: other processes had a rank's core for {share} of the time, so "
            "these times are too long; a job in which each rank has a core to itself measures again"
        )

    @property
    def slow_links_text(self) -> str:
        """The nodes whose links have at most half the rate of the fastest; empty if there are none."""
        rates = self.fabric.measured.rates if self.fabric.measured else []
        slow = [(node, rate) for node, rate in enumerate(rates) if rate <= max(rates) / 2]
        links = ", ".join(f"that of node {node} {format_bandwidth(rate)} MB/s" for node, rate in slow)
        return f"links differ: the fastest has {format_bandwidth(max(rates))} MB/s, {links}" if slow else ""

    @property
    def dates(self) -> tuple[str, str] | None:
        """The first and the last date of a decision; None if there is no date."""
        dates = sorted(one.when for one in self.fabric.decisions if one.when)
        return (dates[0], dates[-1]) if dates else None


def fabric_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder of fabric files, as in src/learn/fabrics/fabric_file.cpp; None if there is none."""
    places = (("STRETTO_CACHE", ""), ("XDG_CACHE_HOME", "stretto"), ("HOME", ".cache/stretto"))
    for variable, below in places:
        value = environment.get(variable, "")
        if value.startswith("/") and (variable != "HOME" or Path(value).is_dir()):
            return Path(value) / below / "fabrics"
    return None


def fabric_paths(environment: Mapping[str, str]) -> list[Path]:
    """The fabric files that jobs in this environment may use, the one that was written last at the end."""
    setting = environment.get(_SETTING, "")
    if setting == "none":
        return []
    if setting:
        return [Path(setting)] if Path(setting).exists() else []
    folder = fabric_folder(environment)
    try:
        files = [(path.stat().st_mtime_ns, path) for path in folder.glob("*.json")] if folder else []
    except OSError:  # gone meanwhile, or not for us
        return []
    return [path for _, path in sorted(files)]


def heading_lines(known: FabricFile, environment: Mapping[str, str]) -> list[str]:
    """Lines that name the network that a page is about, and tell how to choose another one."""
    others = len([path for path in fabric_paths(environment) if path != known.path])
    more = f"jobs know {format_count(others, 'other network')} (stretto fabric list); --fabric FILE names one"
    return [known.network_text, *([more] if others else []), *filter(None, [known.busy_text])]


def read_fabric(path: Path) -> FabricFile:
    """Read a fabric file. Raises StrettoError, in one line that names the file."""
    if not path.is_file():  # a pipe might never end
        raise StrettoError(f"{path}: there is no such file; stretto fabric list names those of jobs")
    try:
        return FabricFile(path, _core.Fabric(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StrettoError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StrettoError(f"{path}: this is not JSON: it is not text in UTF-8") from None
    except ValueError as error:
        raise StrettoError(f"{path}: {error}") from None


def find_fabric_path(name: str, environment: Mapping[str, str]) -> Path:
    """The file with this path or, if there is none, with this name in the folder of fabric files."""
    folder = fabric_folder(environment)
    if folder is not None and "/" not in name and not Path(name).exists():
        for file in (folder / name, folder / f"{name}.json"):
            if file.is_file():
                return file
    return Path(name)


def find_fabric(name: str, environment: Mapping[str, str]) -> FabricFile:
    """The fabric of a file, or the one that a job wrote last (`latest`)."""
    if name != LATEST:
        return read_fabric(find_fabric_path(name, environment))
    paths = fabric_paths(environment)
    if not paths and environment.get(_SETTING) == "none":
        raise StrettoError(f"{name}: {NOTHING_KEPT}")
    if not paths:
        where = environment.get(_SETTING) or fabric_folder(environment) or "HOME, which is not set"
        raise StrettoError(f"no job has kept findings in {where}: {NOTHING_KNOWN}")
    return read_fabric(paths[-1])
