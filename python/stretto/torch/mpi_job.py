# SPDX-License-Identifier: Apache-2.0
"""The job of an MPI launcher, of which this process is a rank."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType, TracebackType

from stretto.launch.environment import find_launch
from stretto.launch.mpi import find_library_below
from stretto.support.errors import StrettoError
from stretto.torch.extension import load_extension, load_library, stop_at_exit
from stretto.torch.network import loaded_mpi
from stretto.torch.rendezvous import set_environment

_HOW_TO_START = (
    "STRETTO_NETWORK=mpi: this process was not started by an MPI launcher, so it has no other ranks; start "
    "the program by one: mpirun -np 4 python train.py"
)

# Programs load the library by these names. Debian's MPICH has its own.
_SONAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}

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
    _load_mpi(launch.abi)
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


def _load_mpi(abi: str) -> None:
    """Load the MPI library of the launcher, unless one is loaded (if mpi4py was imported before)."""
    if loaded_mpi() is not None:
        return
    named = os.environ.get("MPI4PY_LIBMPI")
    candidates = [named] if named else [*_beside_launcher(abi), *_SONAMES[abi]]
    errors = []
    for candidate in candidates:
        try:
            # Open MPI's plugins need its symbols to be global.
            ctypes.CDLL(str(candidate), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            errors.append(str(error))
        else:
            return
    raise StrettoError(
        f"the MPI library of the launcher could not be loaded ({errors[0]}); name it by MPI4PY_LIBMPI, which "
        "mpi4py reads, too, or do without MPI: STRETTO_NETWORK=sockets"
    )


def _beside_launcher(abi: str) -> Iterator[Path]:
    """Yields files to try before the files that the dynamic loader finds."""
    for program in _ancestors():
        for soname in _SONAMES[abi]:
            found = find_library_below(program.parent.parent, soname)
            if found is not None:
                yield found


def _ancestors() -> Iterator[Path]:
    """Yields the programs of the parent, its parent and so on. One is the launcher or its daemon."""
    process = os.getppid()
    while process > 1:
        with suppress(OSError):  # another user's
            yield Path(f"/proc/{process}/exe").readlink()
        try:
            status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        # The process's name, in parentheses, may contain anything.
        process = int(status.rpartition(")")[2].split()[1])


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
