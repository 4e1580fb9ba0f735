# SPDX-License-Identifier: Apache-2.0
"""Settings for all tests, and sample files of every kind that Stretto writes."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from stretto.results.runs import Run, Series
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.studies.file import Study, StudyRun, study_text

# A shell that runs the tests in the background makes them ignore interrupts. Programs that they start would
# inherit that, and tests that interrupt these programs would wait without end.
signal.signal(signal.SIGINT, signal.default_int_handler)

# On a busy machine an example may take any time.
settings.register_profile("stretto", deadline=None)
settings.load_profile("stretto")

ALLREDUCE = COLLECTIVES["allreduce"]
SIZES = [4 << 10, 64 << 10, 1 << 20, 16 << 20]
# The time of a message by each spec, as a multiple of the MPI default's time.
TIMES = {
    "native": 1.0,
    "auto": 0.5,
    "native(ring)": 0.6,
    "native:segments=1": 1.2,
    "native:segments=4": 0.8,
    "ring:segment_bytes=256KiB": 0.48,
    "recursive_doubling": 1.5,
}
JITTER = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.005)


def sample_run(library: str, speed: float = 1.0) -> Run:
    """A run on eight nodes of one rank, with an allreduce by each spec at each size."""
    series = [
        Series(
            size,
            False,
            spec,
            "ring:segment_bytes=256KiB" if spec == "auto" else spec,
            1,
            [(1e-4 + size / 7e6) * factor * jitter / speed for jitter in JITTER],
            True,
        )
        for size in SIZES
        for spec, factor in TIMES.items()
    ]
    return Run(ALLREDUCE, 0, library, "0.1.0", 8, 8, [1] * 8, "float", series, skipped=[64 << 20])


TABLE: dict[str, Any] = {
    "format": "stretto-table",
    "version": 1,
    "mpi": "Open MPI 4.1.4",
    "network": "tcp 200mbit",
    "shapes": [
        {
            "nodes": 8,
            "ppn": 1,
            "allreduce": [
                {"from": 0, "spec": "native"},
                {"from": "4KiB", "spec": "native", "library": "recursive_doubling"},
                {"from": "64KiB", "spec": "ring:segment_bytes=256KiB", "gain": 1.93},
            ],
            "ibcast": [{"from": 0, "spec": "binomial"}],
        },
        {
            "nodes": 16,
            "ppn": 1,
            "modelled": True,
            "allreduce": [{"from": 0, "spec": "native"}, {"from": "32KiB", "spec": "ring"}],
        },
    ],
    "notes": {},
}
MACHINE: dict[str, Any] = {
    "format": "stretto-machine",
    "version": 1,
    "name": "sample",
    "description": "eight nodes",
    "levels": {
        "node": [{"from": 0, "latency": 6e-7, "bandwidth": 7e9}],
        "network": [
            {"from": 0, "latency": 2e-6, "bandwidth": 1e10},
            {"from": "64KiB", "latency": 5e-6, "bandwidth": 1.1e10, "synchronous": True},
        ],
    },
    "notes": {
        "remarks": ["one pass was disturbed"],
        "points": [
            {"what": "ping-pong", "level": "network", "bytes": 8, "seconds": [[2e-6, 3e-6], [2e-6]]},
            {"what": "reduction", "bytes": 8, "seconds": [[1e-9]]},
        ],
    },
}
STATISTICS: dict[str, Any] = {
    "stretto": "0.1.0",
    "library": "Open MPI v4.1.4, package: Debian OpenMPI",
    "ranks": 8,
    "nodes": 8,
    "measured_on_rank": 0,
    "calls": [
        {
            "collective": "allreduce",
            "bytes_from": size,
            "bytes_below": 2 * size,
            "spec": spec,
            "calls": 12,
            "bytes": 12 * size,
            "seconds": seconds,
        }
        for size, spec, seconds in ((1024, "native", 0.001), (1 << 20, "ring", 1.5), (1 << 20, "native", 0.5))
    ],
}

SPREAD = {"median": 1e-3, "p95": 2e-3}
PROFILE: dict[str, Any] = {
    "format": "stretto-profile",
    "version": 1,
    "ranks": 4,
    "nodes": 2,
    "seconds": 10.0,
    "inside": 4.0,
    "waiting": 1.0,
    "collectives": [
        {
            "collective": collective,
            "spec": spec,
            "form": form,
            "ranks": 4,
            "bytes": size,
            "calls": 10,
            "total_bytes": 10 * size,
            "seconds": SPREAD,
            "inside": inside,
            "arrival": SPREAD,
            "gap": SPREAD,
        }
        for collective, spec, form, size, inside in (
            ("allreduce", "native", "blocking", 1 << 20, 1.5),
            ("allreduce", "ring", "blocking", 1 << 20, 1.0),
            ("bcast", "native", "nonblocking", 1024, 1.5),
        )
    ],
    "histogram": [
        {"collective": "allreduce", "begin": 1 << 20, "calls": 20, "total_bytes": 20 << 20, "inside": 2.5},
        {"collective": "bcast", "begin": 1024, "calls": 10, "total_bytes": 10240, "inside": 1.5},
    ],
    "training": {
        "framework": "horovod",
        "steps": 19,
        "step_seconds": 3e-3,
        "compute_seconds": 2e-3,
        "uncertainty_seconds": 1e-4,
        "gradients": [
            {"name": "second", "bytes": 2_000_000, "ready": 2e-3},
            {"name": "first", "bytes": 1_000_000, "ready": 5e-4},
        ],
        "messages": [{"bytes": 3_000_000, "per_step": 1.5}],
    },
}
TRACE: dict[str, Any] = {
    "format": "stretto-trace",
    "version": 1,
    "folder": "traces",
    "trace": "traces/trace.json",
    "events": 100,
    "ranks": 3,
    "missing": [2],
    "complaints": [],
    "clock_error_us": 2.5,
    "totals": {
        "collectives": 7,
        "incomplete": 7,
        "overlapping": 0,
        "within_clock_errors": 0,
        "contradictions": 0,
        "waiting_share": 0.25,
        "by_rank": [{"rank": rank, "inside_us": 2e6, "waiting_us": 1e6 * rank} for rank in range(2)],
    },
    "slowest": [
        {
            "collective": "allreduce",
            "sequence": 4,
            "communicator": communicator,
            "bytes": 1 << 20,
            "spec": "ring:segment_bytes=128KiB",
            "form": "blocking",
            "ranks": 3,
            "traced_ranks": 2,
            "begin_us": 1.0,
            "total_us": 5000.0,
            "work_us": 3000.0,
            "wait_us": 2000.0,
            "wait_share": 0.4,
            "last_rank": 1,
            "lateness_us": 1500.0,
        }
        for communicator in ("3@a.1", "3@b.1")
    ],
    "late": [
        {
            "rank": rank,
            "collectives": 7,
            "times": 3,
            "waited_us": 9000.0,
            "waited_alone_us": 0.0,
            "worst": {"communicator": "3@a.1", "sequence": 4},
        }
        for rank in (1, None)
    ],
    "timelines": [],
}


@pytest.fixture(autouse=True, scope="session")
def no_table_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Disables the tuning table at the default place, which would change the choices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(autouse=True, scope="session")
def no_memory_of_this_network() -> Iterator[None]:
    """Disables the file of the network, by which one job would change the choices of the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRETTO_FABRIC", "none")
        yield


@pytest.fixture(autouse=True, scope="session")
def ranks_that_wait_yield(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Makes waiting ranks give their core to others, with either MPI, whatever starts them."""
    source = Path(__file__).with_name("yield_when_idle.c")
    library = tmp_path_factory.mktemp("yield") / "yield_when_idle.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        patch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
        yield


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind. The study is of two libraries."""
    folder = tmp_path_factory.mktemp("samples")
    bound = LinkBound.for_lab(25e6, ALLREDUCE, [1] * 8)
    runs = [
        StudyRun(sample_run(library, speed), bound, machine={"cpu": "x"})
        for library, speed in (("Open MPI v4.1.4", 1.0), ("MPICH Version: 5.0.2", 1.1))
    ]
    study = Study("an emulated cluster", runs, [("intelmpi", "it was not found")])
    (folder / "study.json").write_text(study_text(study, ["stretto"]))
    for name, content in (
        ("table", TABLE),
        ("machine", MACHINE),
        ("statistics", STATISTICS),
        ("profile", PROFILE),
        ("trace", TRACE),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder
