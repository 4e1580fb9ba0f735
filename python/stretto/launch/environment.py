# SPDX-License-Identifier: Apache-2.0
"""Reads from the environment which MPI started a process, its rank and the number of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# The variables of rank and number of ranks, which the launchers of each binary interface set.
_VARIABLES = (
    ("openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("mpich", "PMI_RANK", "PMI_SIZE"),
)


@dataclass(frozen=True)
class Launch:
    """A rank, as its environment describes it."""

    abi: str
    rank: int
    ranks: int


def find_launch(environment: Mapping[str, str]) -> Launch | None:
    """The rank that this process is; None if no known MPI launcher started it."""
    for abi, rank, ranks in _VARIABLES:
        if environment.get(rank, "").isdigit() and environment.get(ranks, "").isdigit():
            return Launch(abi, int(environment[rank]), int(environment[ranks]))
    return None
