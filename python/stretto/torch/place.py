# SPDX-License-Identifier: Apache-2.0
"""The job of this process, and the place of a group in it. Without MPI, a job ends with its last group."""

from __future__ import annotations

import itertools
import json
import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

import torch.distributed

from stretto.launch.environment import find_launch
from stretto.support.errors import StrettoError
from stretto.torch.extension import load_extension, load_library, stop_at_exit
from stretto.torch.job_secret import Secrecy, underlying
from stretto.torch.meeting import Clock, agree
from stretto.torch.mpi_job import begin_mpi, mpi_place
from stretto.torch.network import Network, choose_network, own_address, own_network

dist: Any = torch.distributed  # its stubs are incomplete

# The name of a job of MPI. Others have random names.
_MPI = "mpi"
# MPI guarantees tags up to 32767.
_TAGS = 32768


@dataclass(frozen=True)
class Place:
    """Where a group is in the job."""

    ranks: list[int]
    """The group's ranks, by their numbers in the job."""
    tag: int
    """No other group that is being made on one of these ranks has it."""


@dataclass(frozen=True)
class _Word:
    """What a rank says when a group is made."""

    job: str = ""
    """The job that it is in, or that of MPI if it can begin that; empty if neither."""
    number: int = 0
    """The number of the rank in that job."""
    ranks: int = 0
    """The number of ranks of that job."""
    address: str = ""
    """Where others reach the rank; empty if that is the loopback. Only where a job may begin."""
    network: str = ""
    """The name of the network in which all have the same loopback."""
    process: str = ""
    """A name that no other process has. Only where a job may begin."""


@dataclass(frozen=True)
class _Answer:
    """What rank 0 says."""

    job: str = ""
    """The job of all; empty if they are in different ones."""
    tag: int = 0
    numbers: list[int] | None = None
    """The numbers of the group's ranks in the job; None if they are those in PyTorch."""
    secret: str = ""
    """How a rank gets the secret of the job; empty if the job has begun."""
    towards: str | None = None
    """Ranks that others reach only by the loopback take the interface that leads to this address; empty: to
    any. None: the loopback is the same for all."""


_random = secrets.token_hex(8)  # children by fork() have it, too
# The word of this process, once a job without MPI has begun.
_own = _Word()
_groups_made = itertools.count()


def find_place(store: Any, rank: int, ranks: list[int], timeout: timedelta) -> Place | None:
    """Returns a group's place in the job of this process, which begins unless it has begun.

    Collective over the group's ranks. `ranks`: their numbers in PyTorch. None if they are in different jobs,
    which happens if the first group did not have all ranks. Raises StrettoError.
    """
    clock = Clock(timeout)
    word, host = _own_word(rank, len(ranks)), _find_host(store)
    if not load_extension().may_join_store_job() and mpi_place() is None:
        word = replace(
            word, address=own_address(host), network=own_network(), process=f"{_random} {os.getpid()}"
        )
    secrecy = Secrecy(store, len(ranks), os.environ)
    with ExitStack() as until_begun:

        def decide(words: Sequence[str]) -> str:
            answer = _decide([_Word(**json.loads(one)) for one in words], ranks, secrecy, until_begun)
            return json.dumps(asdict(answer))

        said = agree(store, rank, len(ranks), clock, json.dumps(asdict(word)), decide)
        answer = _Answer(**json.loads(said))
        if answer.job == _MPI:
            begin_mpi()
        if answer.secret:
            secret = secrecy.take(answer.job, answer.secret)
            if not word.address and answer.towards is not None:
                host = answer.towards or None
            its_store = dist.PrefixStore(f"stretto/{answer.job}", store)
            _begin(its_store, _Word(answer.job, rank, len(ranks)), host, secret, clock)
    return Place(answer.numbers or ranks, answer.tag) if answer.job else None


def _own_word(rank: int, ranks: int) -> _Word:
    """Returns what this rank says of its job. That of MPI may be about to begin."""
    if load_extension().may_join_store_job():
        return _own
    if (place := mpi_place()) is not None:
        return _Word(_MPI, place[0], place[1])
    world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (rank, ranks)
    if choose_network(os.environ, world) is not Network.MPI:
        return _Word()
    launch = find_launch(os.environ)
    return _Word(_MPI, launch.rank, launch.ranks) if launch else _Word(_MPI, *world)


def _decide(words: Sequence[_Word], ranks: list[int], secrecy: Secrecy, until_begun: ExitStack) -> _Answer:
    """Returns the answer to all. `until_begun` ends when the job that begins has begun, or failed."""
    jobs = {one.job for one in words}
    is_new = "" in jobs and jobs <= {"", _MPI}  # what only some can begin, none begins
    # A program may have a thread for each rank.
    processes = [one.process for one in words if one.process]
    if (len(jobs) > 1 and not is_new) or len(set(processes)) < len(processes):
        return _Answer()
    job = secrets.token_hex(8) if is_new else words[0].job
    numbers = list(range(len(words))) if is_new else [one.number for one in words]
    tag = _tag(numbers[0], len(words) if is_new else words[0].ranks)
    answer = _Answer(job, tag, numbers if numbers != ranks else None)
    if is_new:
        answer = replace(answer, secret=secrecy.offer(job, until_begun), towards=_towards(words))
    return answer


def _tag(rank: int, ranks: int) -> int:
    """Returns a tag with which a group is made. `rank`: the number of the group's first rank in its job.

    A hash of the group's name would sometimes be that of another group, which threads make at the same time.
    """
    own = max(_TAGS // ranks, 1)  # each rank uses these in turns
    return (rank * own + next(_groups_made) % own) % _TAGS


def _towards(words: Sequence[_Word]) -> str | None:
    addresses = [one.address for one in words if one.address]
    is_one_network = len({one.network for one in words}) == 1
    return None if is_one_network and not addresses else next(iter(addresses), "")


def _begin(store: Any, own: _Word, host: str | None, secret: bytes, clock: Clock) -> None:
    global _own  # noqa: PLW0603  a process is in one job at a time
    load_library()
    try:
        load_extension().begin_by_store(own.number, own.ranks, store, host, secret, clock.left)
    except RuntimeError as error:
        raise StrettoError(str(error).removeprefix("stretto: ")) from None
    _own = own
    stop_at_exit()


def _find_host(store: Any) -> str | None:
    """Returns a host that all ranks reach: that of the store's server, or else the launcher's master."""
    its = underlying(store)
    return str(its.host) if isinstance(its, dist.TCPStore) else os.environ.get("MASTER_ADDR")
