# SPDX-License-Identifier: Apache-2.0
"""The job of an MPI launcher, of which this process is a rank."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from types import ModuleType, TracebackType

from stretto.launch.environment import find_launch
from stretto.support.errors import StrettoError
from stretto.torch.extension import load_extension, load_library, stop_at_exit
from stretto.torch.loading import load_mpi
from stretto.torch.rendezvous import set_environment

_HOW_TO_START = (
    "STRETTO_NETWORK=mpi: this process was not started by an MPI launcher, so it has no other ranks; start "
    "the program by one: mpirun -np 4 python train.py"
)

# The rank and the number of ranks in the job, and then both on this node. None until the job has begun.
Place = tuple[int, int, int, int]
_place: Place | None = None


def mpi_place() -> Place | None:
    """Returns the place of this process in the job, if the job has begun."""
    return _place


def begin_mpi() -> Place:
    """Begin the job, unless it has begun, and set the variables of `init_process_group`.

    Collective over all ranks of the launcher.
    """
    global _place  # noqa: PLW0603  a process is in one job
    if _place is not None:
        return _place
    launch = find_launch(os.environ)
    if launch is None:
        raise StrettoError(_HOW_TO_START)
    extension = load_extension()
    load_mpi(launch.abi)
    load_library()
    try:
        place: Place = extension.begin()
    except RuntimeError as error:
        raise StrettoError(str(error).removeprefix("stretto: ")) from None
    if place[1] != launch.ranks:
        raise StrettoError(
            f"the launcher started {launch.ranks} ranks, but the MPI library of this process sees "
            f"{place[1]}: it is not the launcher's; name the right one by MPI4PY_LIBMPI"
        )
    if _mpi4py_has_begun():
        _end_all_by_failures(extension)
    stop_at_exit()
    _place = place
    set_environment(extension, place, os.environ)
    return place


def _mpi4py_has_begun() -> bool:
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and bool(mpi.Is_initialized())


def _end_all_by_failures(extension: ModuleType) -> None:
    """End the job if this rank fails: mpi4py would wait in MPI_Finalize for ranks that wait for this one."""
    shown = sys.excepthook
    failed = False
    process = os.getpid()

    def note(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        nonlocal failed
        failed = True
        shown(kind, error, trace)

    def end() -> None:
        # Forked children inherit the handler.
        if os.getpid() == process and (failed or extension.has_given_up()):
            for stream in (sys.stdout, sys.stderr):
                with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
                    stream.flush()
            extension.abort(1)

    sys.excepthook = note
    atexit.register(end)
