# SPDX-License-Identifier: Apache-2.0
"""Device memory with an MPI library that supports it: the guard compares the library with staging."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.python.interpose.jobs import used

if TYPE_CHECKING:
    from tests.python.conftest import Runner

CALLS = 60


def test_where_copies_are_slow_the_library_keeps_the_calls(mpi: Runner, tmp_path: Path) -> None:
    """A ring needs 130 ms for the copies of 64 KiB; the library reads the memory itself."""
    stats = tmp_path / "stats.json"
    driver = mpi.compiled("cuda_stand_in.cpp", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuda.so.1")
    program = [str(mpi.compiled("guarded_device.cpp")), str(driver), "1e6", str(CALLS)]
    more = {
        "STRETTO_TOPOLOGY": "nodes=3,ppn=1",
        "STRETTO_STATS": str(stats),
        "STRETTO_GPU_AWARE": "1",
    }
    ran = mpi.run(program, ranks=3, more=more)
    assert ran.right, ran.output
    calls = used(stats)
    ours = sum(count for spec, count in calls.items() if not spec.startswith("native"))
    assert 0 < ours < CALLS / 2, calls
    assert sum(calls.values()) >= 2 * CALLS, calls
