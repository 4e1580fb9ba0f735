# SPDX-License-Identifier: Apache-2.0
"""Where the library of the MPI is that started this process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from stretto.launch.mpi import find_library_below
from stretto.support.errors import StrettoError

HOW_TO_START = (
    "this process was not started by an MPI launcher, so it has no other ranks; start the program by one: "
    "mpirun -np 4 python train.py (not by torchrun)"
)

# Programs ask for the library by these names; Debian's MPICH has one of its own.
_SONAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}


def load_mpi(abi: str) -> None:
    """Load the MPI library of the launcher, unless the process has one (mpi4py was imported before)."""
    if _has_mpi():
        return
    named = os.environ.get("MPI4PY_LIBMPI")
    candidates = [named] if named else [*_beside_launcher(abi), *_SONAMES[abi]]
    errors = []
    for candidate in candidates:
        try:
            # Open MPI's plugins look its symbols up globally.
            ctypes.CDLL(str(candidate), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            errors.append(str(error))
        else:
            return
    raise StrettoError(
        f"the MPI library of the launcher could not be loaded ({errors[0]}); name it by MPI4PY_LIBMPI, which "
        "mpi4py reads, too"
    )


def _has_mpi() -> bool:
    with Path("/proc/self/maps").open(encoding="utf-8", errors="replace") as maps:
        names = {Path(line.split()[-1]).name for line in maps if "/" in line}
    return any(name.startswith(("libmpi.so", "libmpich.so")) for name in names)


def _beside_launcher(abi: str) -> Iterator[Path]:
    """Files that are likelier to be it than what the loader finds."""
    for program in _ancestors():
        for soname in _SONAMES[abi]:
            found = find_library_below(program.parent.parent, soname)
            if found is not None:
                yield found


def _ancestors() -> Iterator[Path]:
    """The programs that started this process, of which one is the launcher or its daemon."""
    process = os.getppid()
    while process > 1:
        with suppress(OSError):  # another user's
            yield Path(f"/proc/{process}/exe").readlink()
        try:
            status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        # Its name, in parentheses, may hold anything.
        process = int(status.rpartition(")")[2].split()[1])
