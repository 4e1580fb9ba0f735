# SPDX-License-Identifier: Apache-2.0
"""Makes process groups for torch.distributed, from the ranks of a job that began by MPI or a store."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed

from stretto.launch.environment import read_choice
from stretto.support.errors import StrettoError
from stretto.support.units import format_count
from stretto.torch import flight_recorder, shrinking
from stretto.torch.extension import load_extension
from stretto.torch.place import find_place

dist: Any = torch.distributed  # its stubs are incomplete
shrinking.mend()
flight_recorder.mend()


def create(options: Any, gloo: Any = None) -> Any:
    """Make a process group. `gloo`: the class of gloo's groups, if the group replaces one of them."""
    # The default group has no list of ranks.
    ranks = list(options.global_ranks_in_group) or list(range(options.group_size))

    def make_gloo(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
        return gloo(store, rank, size, timeout=timeout)

    make_other = make_gloo if gloo is not None else None
    name = options.group_id
    return _Group(options.store, options.group_rank, ranks, options.timeout, name, make_other).make()


def create_of_old(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """Make a process group for versions of PyTorch that do not list its ranks."""
    own = dist.get_rank() if dist.is_initialized() else rank
    store.set(f"stretto/{rank}", str(own))
    ranks = [int(store.get(f"stretto/{member}")) for member in range(size)]
    return _Group(store, rank, ranks, timeout, "-".join(map(str, ranks))).make()


@functools.cache  # once a process: a job may end, and a new one begin
def _announce(ranks: int, how: str) -> None:
    if read_choice("STRETTO_QUIET", ("0", "1"), os.environ) == "0":
        its_ranks = format_count(ranks, "rank")
        line = f"stretto: Stretto carries this job's calls of torch.distributed: {its_ranks}, by {how}"
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
    make_other: Callable[[Any, int, int, timedelta], Any] | None = None
    """Makes a group of another backend, for what Stretto does not support."""

    def make(self) -> Any:
        try:
            place = find_place(self.store, self.rank, self.ranks, self.timeout)
        except StrettoError as error:
            raise StrettoError(f"process group {self.name}: {error}") from None
        if place is not None:
            if place.ranks[self.rank] == 0:
                is_own = load_extension().is_in_store_job()
                _announce(len(place.ranks), "connections of its own" if is_own else "the MPI library")
            return load_extension().make_group(
                place.ranks,
                self.rank,
                self.timeout,
                self.name,
                place.tag,
                self.store,
                self.make_part,
                self.make_other,
            )
        if self.make_other is not None:
            store = dist.PrefixStore("gloo", self.store)
            return self.make_other(store, self.rank, len(self.ranks), self.timeout)
        raise StrettoError(
            f"process group {self.name}: the first group of this backend did not have all of its ranks; make "
            'one that has before, as by init_process_group("cpu:stretto,cuda:nccl")'
        )

    def make_part(self, store: Any, members: Sequence[int], timeout: timedelta, name: str) -> Any:
        """Make a group of some of this group's ranks, this one among them."""
        ranks = [self.ranks[member] for member in members]
        return _Group(store, list(members).index(self.rank), ranks, timeout, name, self.make_other).make()
