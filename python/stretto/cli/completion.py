# SPDX-License-Identifier: Apache-2.0
"""What shells offer for values: names of MPI libraries, collectives and specs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

MPI_NAMES = ("openmpi", "openmpi5", "mpich", "mpich5", "intelmpi", "sockets")


def complete_mpi(incomplete: str) -> list[str]:
    """The names of MPI libraries that begin so."""
    return [name for name in MPI_NAMES if name.startswith(incomplete)]


def complete_mpis(incomplete: str) -> list[str]:
    """The same for a list with commas."""
    return list(_complete_last(incomplete, MPI_NAMES))


def complete_collective(incomplete: str) -> list[str]:
    """The collectives that begin so."""
    return [name for name in _collectives() if name.startswith(incomplete)]


def complete_collectives(incomplete: str) -> list[str]:
    """The same for a list with commas."""
    return list(_complete_last(incomplete, _collectives()))


def complete_specs(incomplete: str) -> list[str]:
    """Algorithms of all collectives, native and auto, in a list with commas."""
    return list(_complete_last(incomplete, ["native", "auto", *_algorithms()]))


def complete_spec(incomplete: str) -> list[str]:
    """A spec of allreduce, or COLLECTIVE/SPEC."""
    collective, slash, _ = incomplete.partition("/")
    if slash:
        names = [f"{collective}/{name}" for name in _algorithms(collective)]
    else:
        names = [*_algorithms("allreduce"), *(f"{name}/" for name in _collectives())]
    return [name for name in names if name.startswith(incomplete)]


def _complete_last(incomplete: str, names: Iterable[str]) -> Iterator[str]:
    before, comma, last = incomplete.rpartition(",")
    return (f"{before}{comma}{name}" for name in names if name.startswith(last))


def _collectives() -> list[str]:
    from stretto.spec.collectives import COLLECTIVES  # noqa: PLC0415  only a shell that completes needs it

    return list(COLLECTIVES)


def _algorithms(collective: str | None = None) -> list[str]:
    from stretto import _core  # noqa: PLC0415  only a shell that completes needs it

    found = (one.name for one in _core.algorithms() if collective in (None, one.collective))
    return list(dict.fromkeys(found))
