# SPDX-License-Identifier: Apache-2.0
"""Finds and loads the library of the MPI that started this process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from stretto.launch.mpi import find_library_below
from stretto.support.errors import StrettoError
from stretto.torch.network import loaded_mpi

# Programs load the library by these names. Debian's MPICH has its own.
_SONAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}


def load_mpi(abi: str) -> None:
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
