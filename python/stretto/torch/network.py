# SPDX-License-Identifier: Apache-2.0
"""Chooses the network of this process: an MPI library, or sockets of Stretto's own."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from stretto.launch.environment import find_launch, read_choice


class Network(Enum):
    """The carrier of messages between nodes."""

    MPI = "mpi"
    SOCKETS = "sockets"


def choose_network(environment: Mapping[str, str]) -> Network:
    """Returns the network of STRETTO_NETWORK or, by default, the network that suits the launcher.

    Launchers without MPI give the rank as RANK. An MPI launcher may have started such a launcher. Then the
    MPI launcher's variables are also set, but they mean something else.
    """
    asked = read_choice("STRETTO_NETWORK", ("auto", "mpi", "sockets"), environment)
    if asked != "auto":
        return Network(asked)
    if find_launch(environment) is None or ("RANK" in environment and not mpi_has_begun()):
        return Network.SOCKETS
    return Network.MPI


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
