# SPDX-License-Identifier: Apache-2.0
"""mpi4py's own tests of collectives pass under Stretto, whatever algorithm is forced.

The tests come from the source distribution of the installed version. They run without Stretto first; what
fails there is the MPI library's own fault, and only that may fail under Stretto.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stretto import _core

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

# On a busy machine MPICH may need minutes.
pytestmark = pytest.mark.timeout(600)

# Those in which collectives are called, and what lives on communicators beside it. Of the suite's others,
# test_util_sync spins on one-sided operations: on two cores MPICH by itself takes minutes for it.
MODULES = [
    "test_cco_buf",
    "test_cco_buf_inter",
    "test_cco_obj",
    "test_cco_obj_inter",
    "test_op",
    "test_msgzero",
    "test_comm",
    "test_comm_inter",
    "test_attributes",
]
# MPICH spins while it waits: a third rank on two cores would make minutes of seconds.
RANKS = {"openmpi": 3, "mpich": 2}
TOPOLOGIES = {"openmpi": "ppn=2+1", "mpich": "ppn=2"}
# The messages are short: of a few elements each, so that segments of 16 bytes are several too.
PIPELINING = ["", ":segments=4", ":segment_bytes=16:window=2"]
NATIVE = ["native", "native:segments=2", "native:segment_bytes=16"]


def forced_together(name: str) -> list[list[str]]:
    """Specs for all collectives at once; each algorithm that is of use there is forced in some turn."""
    topology = _core.Topology(TOPOLOGIES[name])
    ways: dict[str, list[str]] = {collective: [] for collective in _core.collectives()}
    for algorithm in _core.algorithms():
        if not _core.misfit(algorithm.collective, algorithm.usual, topology):
            known = ways[algorithm.collective]
            known.append(f"{algorithm.collective}/{algorithm.usual}{PIPELINING[len(known) % 3]}")
    for collective, specs in ways.items():
        specs += [f"{collective}/{spec}" for spec in NATIVE]
    turns = max(len(specs) for specs in ways.values())
    return [[specs[turn % len(specs)] for specs in ways.values()] for turn in range(turns)]


# Below this number of calls of Stretto's the suite cannot have been what was run.
FEWEST_CALLS = 1000


def fetch_suite(folder: Path) -> Path:
    """The tests of the installed mpi4py, from its source distribution."""
    requirement = f"mpi4py=={metadata.version('mpi4py')}"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*pip, "--no-binary", "mpi4py", "--dest", str(folder), requirement],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, f"the source distribution of {requirement} cannot be fetched:\n{done.stderr}"
    (archive,) = folder.glob("mpi4py-*.tar.gz")
    shutil.unpack_archive(archive, folder)
    archive.unlink()
    (source,) = folder.glob("mpi4py-*")
    return source / "test"


@pytest.fixture(scope="session")
def suite(pytestconfig: pytest.Config) -> Path:
    """Where mpi4py's tests lie; they are fetched once."""
    cache = pytestconfig.rootpath / ".cache" / f"mpi4py-{metadata.version('mpi4py')}-tests"
    if not cache.is_dir():
        cache.parent.mkdir(exist_ok=True)
        # Fetched beside and renamed, so that a fetch that is interrupted leaves nothing that looks whole.
        partial = cache.with_name(f"{cache.name}.{os.getpid()}")
        partial.mkdir()
        try:
            fetch_suite(partial).rename(cache)
        finally:
            shutil.rmtree(partial)
    return cache


RunSuite = Callable[[str, Sequence[str] | None, Path], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def run_suite(local_ranks: Callable[[str], LocalRanks], suite: Path) -> RunSuite:
    """Runs the suite on an MPI by forced specs, or without Stretto; how it came out on each rank."""

    def run(name: str, specs: Sequence[str] | None, folder: Path) -> list[dict[str, Any]]:
        script = str(Path(__file__).with_name("mpi4py_suite.py"))
        program = [script, str(suite), str(folder), *MODULES]
        # Measured calls go another way than unmeasured ones; under the rule they are to go that other way.
        stats = None if not specs else folder / "stats.json"
        topology = None if specs is None else TOPOLOGIES[name]
        local_ranks(name).run(RANKS[name], program, specs=specs, topology=topology, stats=stats, seconds=240)
        return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(RANKS[name])]

    return run


@pytest.fixture(scope="module")
def natively(run_suite: RunSuite, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], set[str]]:
    """What fails on an MPI by itself."""
    known: dict[str, set[str]] = {}

    def failures(name: str) -> set[str]:
        if name not in known:
            reports = run_suite(name, None, tmp_path_factory.mktemp("native"))
            known[name] = {test for report in reports for test in report["failed"]}
            # Else an MPI that fails in everything would let Stretto pass.
            assert len(known[name]) < 5, known[name]
        return known[name]

    return failures


def check(reports: list[dict[str, Any]], excused: set[str]) -> None:
    failed = {test: text for report in reports for test, text in report["failed"].items()}
    assert failed.keys() <= excused, "\n".join(failed.values())
    assert all(report["ran"] > 250 for report in reports)


@pytest.mark.parametrize("name", list(RANKS))
def test_passes_under_the_rule(
    run_suite: RunSuite, natively: Callable[[str], set[str]], tmp_path: Path, name: str
) -> None:
    check(run_suite(name, (), tmp_path), natively(name))


@pytest.mark.parametrize(
    ("name", "specs"),
    [pytest.param(name, specs, id=f"{name}-{specs[0]}") for name in RANKS for specs in forced_together(name)],
)
def test_passes_under(
    run_suite: RunSuite,
    natively: Callable[[str], set[str]],
    tmp_path: Path,
    name: str,
    specs: Sequence[str],
) -> None:
    check(run_suite(name, specs, tmp_path), natively(name))
    report = json.loads((tmp_path / "stats.json").read_text())
    assert report["ranks"] == RANKS[name]
    calls: dict[str, int] = dict.fromkeys(specs, 0)
    for call in report["calls"]:
        # Where an algorithm does not keep the order that an operation needs, the library's own takes over.
        spec = f"{call['collective']}/{call['spec']}"
        if spec in calls:
            calls[spec] += call["calls"]
    assert all(calls.values()), calls
    assert sum(calls.values()) > FEWEST_CALLS, calls
