# SPDX-License-Identifier: Apache-2.0
"""Which MPI libraries a test runs on. Without a mark, that is each library of the fixture `mpi`."""

from __future__ import annotations

import pytest

on_one_library = pytest.mark.parametrize(
    "mpi", ["mpich", pytest.param("openmpi", marks=pytest.mark.long)], indirect=True
)
"""For what Stretto does in the same way on every library: `make test` has the one that starts faster, and
`make test-all` the other one."""
