# SPDX-License-Identifier: Apache-2.0
"""Reads from the environment which MPI started a process, its rank, and settings that Python reads."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stretto.support.errors import StrettoError

# As in src/text/rank_variables.hpp: the variables of rank and number of ranks, and the binary interface of
# the launcher's MPI. The first that is set counts.
RANK_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "openmpi"),
    ("PMIX_RANK", "", ""),
    ("PMI_RANK", "PMI_SIZE", "mpich"),
    ("RANK", "WORLD_SIZE", ""),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", ""),
)


@dataclass(frozen=True)
class Launch:
    """A rank, as its environment describes it."""

    abi: str
    rank: int
    ranks: int


def find_launch(environment: Mapping[str, str]) -> Launch | None:
    """The rank that this process is; None if no known MPI launcher started it."""
    for rank, ranks, abi in RANK_VARIABLES:
        if abi and environment.get(rank, "").isdigit() and environment.get(ranks, "").isdigit():
            return Launch(abi, int(environment[rank]), int(environment[ranks]))
    return None


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
    if next((environment[rank] for rank, *_ in RANK_VARIABLES if rank in environment), "0") == "0":
        _say_once(f"stretto: {line}")


@functools.cache
def _say_once(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
