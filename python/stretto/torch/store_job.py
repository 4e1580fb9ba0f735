# SPDX-License-Identifier: Apache-2.0
"""The job of a process without an MPI launcher, which begins and ends with its first and last group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed

from stretto.support.errors import StrettoError
from stretto.torch.extension import load_extension, load_library, stop_at_exit
from stretto.torch.meeting import Clock, Outcome, meet

dist: Any = torch.distributed  # its stubs are incomplete


@dataclass(frozen=True)
class _StoreJob:
    """A job that has begun."""

    name: str
    ranks: list[int]
    """The numbers of the job's ranks in PyTorch."""


_job: _StoreJob | None = None


def place_in_store_job(
    store: Any, rank: int, ranks: list[int], timeout: timedelta, environment: Mapping[str, str]
) -> list[int] | None:
    """Returns a group's ranks in the job, which begins unless it has begun. Collective over these ranks.

    None if the ranks are in different jobs. That happens if the first group did not have all ranks.
    """
    global _job  # noqa: PLW0603  a process is in one job at a time
    if not load_extension().may_join_store_job():
        _job = None  # the program has destroyed the last group
    clock = Clock(timeout)
    outcome, name = meet(store, rank, len(ranks), clock, _job.name if _job else "")
    if outcome is Outcome.MIXED:
        return None
    if outcome is Outcome.BEGIN:
        _begin(dist.PrefixStore(f"stretto/{name}", store), rank, len(ranks), clock, environment)
        _job = _StoreJob(name, ranks)
    assert _job is not None
    return [_job.ranks.index(one) for one in ranks]


def _begin(store: Any, rank: int, size: int, clock: Clock, environment: Mapping[str, str]) -> None:
    load_library()
    try:
        load_extension().begin_by_store(rank, size, store, _find_host(store, environment), clock.left)
    except RuntimeError as error:
        raise StrettoError(str(error).removeprefix("stretto: ")) from None
    stop_at_exit()


def _find_host(store: Any, environment: Mapping[str, str]) -> str | None:
    """Returns a host that all ranks reach: that of the store's server, or else the launcher's master."""
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    return str(store.host) if isinstance(store, dist.TCPStore) else environment.get("MASTER_ADDR")
