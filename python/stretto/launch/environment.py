# SPDX-License-Identifier: Apache-2.0
"""Reads from the environment which MPI started a process, its rank, and settings that Python reads."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stretto.support.errors import StrettoError

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


# The variables in which launchers of all kinds pass the rank.
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")


def read_choice(name: str, choices: Sequence[str], environment: Mapping[str, str]) -> str:
    """The value of a variable; the first choice if it is not set.

    An unknown value is taken as the first choice, and rank 0 reports it. With STRETTO_STRICT=1 it raises
    StrettoError.
    """
    value = environment.get(name, "")
    if not value or value in choices:
        return value or choices[0]
    *others, last = filter(None, choices)
    names = f"{', '.join(others)} or {last}" if others else last
    error = f'{name}: must be {names}, not "{value}"'
    if environment.get("STRETTO_STRICT") == "1":
        raise StrettoError(f"{error} (STRETTO_STRICT)")
    say_as_rank_0(f"{error}; " + (f"taken as {choices[0]}" if choices[0] else "it is ignored"), environment)
    return choices[0]


def say_as_rank_0(line: str, environment: Mapping[str, str]) -> None:
    """Print a line, once in a process, unless another rank prints it."""
    if next((environment[rank] for rank in _RANKS if rank in environment), "0") == "0":
        _say_once(f"stretto: {line}")


@functools.cache
def _say_once(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
