# SPDX-License-Identifier: Apache-2.0
"""Which algorithms of its own an MPI library can be told to use."""

from __future__ import annotations

from stretto.mpi import Flavor


def library_algorithms(flavor: Flavor | None, collective: str) -> list[str]:  # noqa: ARG001  see below
    """Their names for a collective, as the spec `native(NAME)` has them; none of a library that is not known.

    The measuring program cannot switch them yet, so there are none.
    """
    return []
