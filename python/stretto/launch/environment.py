# SPDX-License-Identifier: Apache-2.0
"""By which MPI a process was started, and as which of how many ranks, as its environment says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Of each binary interface's launchers: the rank, and of how many.
_VARIABLES = (
    ("openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("mpich", "PMI_RANK", "PMI_SIZE"),
)


@dataclass(frozen=True)
class Launch:
    """What the environment says of a rank."""

    abi: str
    rank: int
    ranks: int


def find_launch(environment: Mapping[str, str]) -> Launch | None:
    """None where no MPI launcher that is known started this process."""
    for abi, rank, ranks in _VARIABLES:
        if environment.get(rank, "").isdigit() and environment.get(ranks, "").isdigit():
            return Launch(abi, int(environment[rank]), int(environment[ranks]))
    return None
