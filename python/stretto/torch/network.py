# SPDX-License-Identifier: Apache-2.0
"""Chooses what carries the messages of this process: an MPI library, or sockets of Stretto's own."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from stretto.launch.environment import find_launch, read_choice


class Network(Enum):
    """What carries messages between nodes."""

    MPI = "mpi"
    SOCKETS = "sockets"


def choose_network(environment: Mapping[str, str]) -> Network:
    """What STRETTO_NETWORK says or, by default, what fits to the launcher of this process.

    Other launchers than MPI's give the rank as RANK. An MPI launcher may have started them, so that its own
    variables are there, too, and mean something else.
    """
    asked = read_choice("STRETTO_NETWORK", ("auto", "mpi", "sockets"), environment)
    if asked != "auto":
        return Network(asked)
    if find_launch(environment) is None or ("RANK" in environment and not mpi_has_begun()):
        return Network.SOCKETS
    return Network.MPI


def loaded_mpi() -> Path | None:
    """The MPI library that is loaded in this process."""
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
