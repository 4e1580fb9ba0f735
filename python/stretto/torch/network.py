# SPDX-License-Identifier: Apache-2.0
"""Chooses the network of this process: an MPI library, or sockets of Stretto's own."""

from __future__ import annotations

import ctypes
import ipaddress
import socket
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from multiprocessing import parent_process
from pathlib import Path

from stretto.launch.environment import find_launch, read_choice


class Network(Enum):
    """The carrier of messages between nodes."""

    MPI = "mpi"
    SOCKETS = "sockets"


def choose_network(environment: Mapping[str, str], world: tuple[int, int] | None = None) -> Network:
    """Returns the network of STRETTO_NETWORK or, by default, the network that suits the launcher.

    `world`: the rank and the number of ranks, if the program has given them. An MPI launcher's variables mean
    something else if it has started another launcher, which gives the rank as RANK, or a program that starts
    the ranks itself, or that makes several worlds of the launcher's ranks.
    """
    asked = read_choice("STRETTO_NETWORK", ("auto", "mpi", "sockets"), environment)
    if asked != "auto":
        return Network(asked)
    launch = find_launch(environment)
    if launch is None or ("RANK" in environment and not mpi_has_begun()) or parent_process() is not None:
        return Network.SOCKETS
    return Network.MPI if world in (None, (launch.rank, launch.ranks)) else Network.SOCKETS


def loaded_mpi() -> Path | None:
    """Returns the MPI library that is loaded in this process; None if there is none."""
    with Path("/proc/self/maps").open(encoding="utf-8", errors="replace") as maps:
        files = {Path(line.split(maxsplit=5)[-1].strip()) for line in maps if "/" in line}
    return next((file for file in files if file.name.startswith(("libmpi.so", "libmpich.so"))), None)


def mpi_has_begun() -> bool:
    """Whether MPI was initialized in this process."""
    library = loaded_mpi()
    if library is None:
        return False
    begun = ctypes.c_int(0)
    ctypes.CDLL(str(library)).MPI_Initialized(ctypes.byref(begun))
    return begun.value != 0


def own_address(host: str | None) -> str:
    """Returns the address at which `host`, or the world, sees this node; empty if it is the loopback."""
    with suppress(OSError):
        # An address for documentation (RFC 5737), of which only the route matters.
        for family, kind, _, _, to in socket.getaddrinfo(host or "192.0.2.1", 9, type=socket.SOCK_DGRAM):
            with suppress(OSError), socket.socket(family, kind) as probe:
                probe.connect(to)
                own = str(probe.getsockname()[0])
                return "" if ipaddress.ip_address(own.partition("%")[0]).is_loopback else own
    return ""


def own_network() -> str:
    """Returns the name of the network in which this process is: that of a machine, or of a container."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/net').stat().st_ino}"
