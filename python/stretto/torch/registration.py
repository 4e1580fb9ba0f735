# SPDX-License-Identifier: Apache-2.0
"""Registers the backend with torch.distributed, and makes its process groups."""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import inspect
import os
import sys
from contextlib import suppress
from datetime import timedelta
from types import ModuleType, TracebackType
from typing import Any

import torch.distributed

from stretto.launch.environment import find_launch
from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.torch.building import built_extension
from stretto.torch.loading import HOW_TO_START, load_mpi
from stretto.torch.rendezvous import set_environment

NAME = "stretto"

# Forked children inherit the exit handler, and must not run it.
_PROCESS = os.getpid()


class _Job:
    """This process as a rank of its job."""

    def __init__(self) -> None:
        launch = find_launch(os.environ)
        if launch is None:
            raise StrettoError(HOW_TO_START)
        self.extension = _load(built_extension())
        load_mpi(launch.abi)
        if not self.extension.load(0):
            library = ctypes.CDLL(str(paths.library()))
            self.extension.load(library._handle)
        try:
            self.place: tuple[int, int, int, int] = self.extension.begin()
        except RuntimeError as error:
            raise StrettoError(str(error).removeprefix("stretto: ")) from None
        if self.place[1] != launch.ranks:
            raise StrettoError(
                f"the launcher started {launch.ranks} ranks, but the MPI library of this process sees "
                f"{self.place[1]}: it is not the launcher's; name the right one by MPI4PY_LIBMPI"
            )
        if _mpi4py_has_begun():
            _end_all_by_failures(self.extension)
        # This runs before mpi4py's handler, and while futures can still call Python functions.
        atexit.register(self._stop)

    def _stop(self) -> None:
        """Stop the backend. After an exception do not wait, since other ranks may wait for this one."""
        if os.getpid() == _PROCESS:
            self.extension.stop(not hasattr(sys, "last_value"))


def _mpi4py_has_begun() -> bool:
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and bool(mpi.Is_initialized())


def _end_all_by_failures(extension: ModuleType) -> None:
    """End the job if this rank fails: mpi4py would wait in MPI_Finalize for ranks that wait for this one."""
    shown = sys.excepthook
    failed = False

    def note(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        nonlocal failed
        failed = True
        shown(kind, error, trace)

    def end() -> None:
        if os.getpid() == _PROCESS and (failed or extension.has_given_up()):
            for stream in (sys.stdout, sys.stderr):
                with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
                    stream.flush()
            extension.abort(1)

    sys.excepthook = note
    atexit.register(end)


_job: _Job | None = None


def _load(path: Any) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.name.split(".")[0], path)
    if spec is None or spec.loader is None:
        raise StrettoError(f"{path} is not an extension module; remove it, and it is built again")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def register(*, started: bool) -> None:
    """Register the backend. If an MPI launcher started this process, begin at once."""
    global _job  # noqa: PLW0603  a process is in one job
    known = inspect.signature(torch.distributed.Backend.register_backend).parameters
    wanted: dict[str, Any] = {"extended_api": True, "devices": ["cpu", "cuda"]}
    create = _create if "extended_api" in known else _create_of_old
    torch.distributed.Backend.register_backend(
        NAME, create, **{name: value for name, value in wanted.items() if name in known}
    )
    if started:
        _job = _Job()
        set_environment(_job.extension, _job.place, os.environ)


def _create(options: Any, _backend_options: Any = None) -> Any:
    """Make a process group. The default group has no list of ranks."""
    ranks = list(options.global_ranks_in_group)
    timeout = options.timeout
    _meet(options, timeout)
    return _make(ranks or list(range(options.group_size)), options.group_rank, timeout, options.group_id)


def _meet(options: Any, timeout: timedelta) -> None:
    """Raise StrettoError if a rank does not arrive in time, since MPI would wait for it forever."""
    if options.store.add("stretto/came", 1) == options.group_size:
        options.store.set("stretto/all", "")
    try:
        options.store.wait(["stretto/all"], timeout)
    except RuntimeError:
        raise StrettoError(
            f"process group {options.group_id}: not all of its {options.group_size} ranks arrived "
            f"within {timeout.total_seconds():g} s"
        ) from None


def _create_of_old(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """The ranks of a group, for versions of torch that do not list them."""
    store.set(f"stretto/{rank}", str(_need_job().place[0]))
    ranks = [int(store.get(f"stretto/{member}")) for member in range(size)]
    return _make(ranks, rank, timeout, "-".join(map(str, ranks)))


def _need_job() -> _Job:
    if _job is None:
        raise StrettoError(HOW_TO_START)
    return _job


def _make(ranks: list[int], group_rank: int, timeout: timedelta, name: str) -> Any:
    job = _need_job()
    rank, size = job.place[:2]
    if len(ranks) > size or ranks[group_rank] != rank:
        raise StrettoError(
            f"rank {group_rank} of {len(ranks)} was asked for, but this is rank {rank} of {size} for MPI; "
            'leave rank and world_size to Stretto: init_process_group("stretto")'
        )
    return job.extension.make_group(ranks, group_rank, timeout, name)
