# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries that are measured: their names, with the network layer if a library has several.

The name `sockets` means jobs without a library.
"""

from __future__ import annotations

from dataclasses import dataclass

from stretto.launch import mpi
from stretto.launch.mpi import Flavor
from stretto.spec.native import SOCKETS
from stretto.support.errors import StrettoError

_PROVIDERS = ("ucx", "ofi")


@dataclass(frozen=True)
class Library:
    """An MPI library and, for MPICH 5, the network layer."""

    flavor: Flavor | None
    """None for sockets, without a library."""
    provider: str = ""
    """Empty if the library has no choice."""

    @property
    def name(self) -> str:
        """The name as the option has it: `openmpi`, `mpich5:ofi`, `sockets`."""
        return f"{self.mpi_name}:{self.provider}" if self.provider else self.mpi_name

    @property
    def label(self) -> str:
        """Its name for people: `MPICH 5 (ofi)`."""
        if self.flavor is None:
            return "no MPI"
        return f"{self.flavor.label} ({self.provider})" if self.provider else self.flavor.label

    @property
    def mpi_name(self) -> str:
        """Its name without the network layer."""
        return self.flavor.value if self.flavor else SOCKETS

    @property
    def variables(self) -> dict[str, str]:
        """The variables that choose the network layer. In a lab, the launcher's settings choose it."""
        return {"MPIR_CVAR_CH4_NETMOD": self.provider} if self.provider else {}


def parse_library(text: str) -> Library:
    """The library of that name. MPICH 5 uses UCX unless the name says `mpich5:ofi`."""
    if text == SOCKETS:
        return Library(None)
    name, colon, provider = text.partition(":")
    flavor = mpi.find_flavor(name)
    if colon and (flavor is not Flavor.MPICH5 or provider not in _PROVIDERS):
        raise StrettoError(f"--mpi {text}: only mpich5 has network layers: mpich5:ucx and mpich5:ofi")
    return Library(flavor, (provider or _PROVIDERS[0]) if flavor is Flavor.MPICH5 else "")


ALL = tuple(
    parse_library(name) for name in ("openmpi", "openmpi5", "mpich", "mpich5:ucx", "mpich5:ofi", "intelmpi")
)


def find_libraries(text: str | None) -> list[Library]:
    """The libraries of a list with commas, each once; by default all that are installed.

    Raises StrettoError if a named library is missing, or if there is none at all.
    """
    if text is not None:
        named = [parse_library(name.strip()) for name in text.split(",")]
        for one in named:
            if one.flavor:
                mpi.find_install(one.flavor.value)
        return list(dict.fromkeys(named))
    installed = {one.flavor for one in mpi.installs()}
    found = [one for one in ALL if one.flavor in installed]
    if not found:
        mpi.find_install(Flavor.OPENMPI4.value)
    return found
