# SPDX-License-Identifier: Apache-2.0
"""Makes process groups for torch.distributed, from the ranks of a job that began by MPI or a store."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed

from stretto.launch.environment import read_choice
from stretto.support.errors import StrettoError
from stretto.torch.extension import load_extension
from stretto.torch.mpi_job import Place, begin_mpi, mpi_place
from stretto.torch.network import Network, choose_network
from stretto.torch.store_job import place_in_store_job

dist: Any = torch.distributed  # its stubs are incomplete


def create(options: Any, gloo: Any = None) -> Any:
    """Make a process group. `gloo`: the class of gloo's groups, if the group replaces one of them."""
    rank, timeout = options.group_rank, options.timeout
    # The default group has no list of ranks.
    ranks = list(options.global_ranks_in_group) or list(range(options.group_size))

    def make_gloo() -> Any:
        return gloo(dist.PrefixStore("gloo", options.store), rank, len(ranks), timeout=timeout)

    make_other = make_gloo if gloo is not None else None
    return _Group(options.store, rank, ranks, timeout, options.group_id, make_other).make()


def create_of_old(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """Make a process group for versions of PyTorch that do not list its ranks."""
    place = _mpi_place()
    own = place[0] if place else dist.get_rank() if dist.is_initialized() else rank
    store.set(f"stretto/{rank}", str(own))
    ranks = [int(store.get(f"stretto/{member}")) for member in range(size)]
    return _Group(store, rank, ranks, timeout, "-".join(map(str, ranks))).make()


def _mpi_place() -> Place | None:
    """Returns the place of this process in the job of an MPI launcher, which begins unless it has begun.

    None if the process is not in such a job.
    """
    if load_extension().is_in_store_job():
        return None
    place = mpi_place()
    return begin_mpi() if place is None and choose_network(os.environ) is Network.MPI else place


@functools.cache  # once a process: a job may end, and a new one begin
def _announce(ranks: int, how: str) -> None:
    if read_choice("STRETTO_QUIET", ("0", "1"), os.environ) == "0":
        line = f"stretto: Stretto carries this job's calls of torch.distributed: {ranks} ranks, by {how}"
        print(f"{line} (STRETTO_QUIET=1 drops this line)", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class _Group:
    """A group that is to be made. Collective over its ranks."""

    store: Any
    rank: int
    ranks: list[int]
    """The numbers of the group's ranks in PyTorch."""
    timeout: timedelta
    name: str
    make_other: Callable[[], Any] | None = None
    """Makes a group of another backend, for calls that Stretto does not support."""

    def make(self) -> Any:
        place = _mpi_place()
        try:
            ranks = self._ranks_in_store_job() if place is None else self._ranks_for_mpi(place)
        except StrettoError as error:
            raise StrettoError(f"process group {self.name}: {error}") from None
        if ranks is not None:
            if ranks[self.rank] == 0:
                _announce(len(ranks), "the MPI library" if place else "connections of its own")
            return load_extension().make_group(
                ranks, self.rank, self.timeout, self.name, self.store, self.make_other
            )
        if self.make_other is not None:
            return self.make_other()
        raise StrettoError(
            f"process group {self.name}: the first group of this backend did not have all of its ranks; make "
            'one that has before, as by init_process_group("cpu:stretto,cuda:nccl")'
        )

    def _ranks_in_store_job(self) -> list[int] | None:
        return place_in_store_job(self.store, self.rank, self.ranks, self.timeout, os.environ)

    def _ranks_for_mpi(self, place: Place) -> list[int]:
        """Waits for all ranks of the group and returns them.

        Raises StrettoError if a rank does not arrive in time, since MPI would wait for it forever.
        """
        size = len(self.ranks)
        if size > place[1] or self.ranks[self.rank] != place[0]:
            raise StrettoError(
                f"rank {self.rank} of {size} was asked for, but this is rank {place[0]} of {place[1]} for "
                'MPI; leave rank and world_size to Stretto: init_process_group("stretto")'
            )
        if self.store.add("stretto/came", 1) == size:
            self.store.set("stretto/all", "")
        try:
            self.store.wait(["stretto/all"], self.timeout)
        except RuntimeError:
            seconds = self.timeout.total_seconds()
            raise StrettoError(f"not all of its {size} ranks arrived within {seconds:g} s") from None
        return self.ranks
