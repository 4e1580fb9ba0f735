# SPDX-License-Identifier: Apache-2.0
"""Finds the number of cores for a rank, from its launcher's variables."""

from __future__ import annotations

import os
from collections.abc import Mapping

_RANKS_OF_THIS_NODE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE")
"""Variables with the number of ranks on the node: of Open MPI, of MPICH and Intel MPI, and of srun."""


def share_of_cores(environment: Mapping[str, str] = os.environ) -> int:
    """Returns an equal share of the node's cores, but no more cores than this rank is bound to."""
    given = (environment.get(name, "") for name in _RANKS_OF_THIS_NODE)
    ranks = next((int(text) for text in given if text.isdecimal() and int(text) > 0), 1)
    return max(1, min(len(os.sched_getaffinity(0)), (os.cpu_count() or 1) // ranks))
