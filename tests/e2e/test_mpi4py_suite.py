# SPDX-License-Identifier: Apache-2.0
"""mpi4py's own tests of collectives pass under Stretto, whatever algorithm is forced.

The tests come from the source distribution of the installed version. They first run without Stretto. Only
tests that fail there, by the MPI library's own fault, may fail under Stretto.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from stretto import _core
from stretto.launch import mpi
from stretto.trace.analysis import join
from stretto.trace.files import read_folder

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

# On a busy machine MPICH may need minutes.
pytestmark = pytest.mark.timeout(600)

# The modules that call collectives, or that use communicators in other ways. Of the other modules,
# test_util_sync spins on one-sided operations: on two cores, MPICH itself takes minutes for it.
MODULES = [
    "test_cco_buf",
    "test_cco_buf_inter",
    "test_cco_vec",
    "test_cco_vec_inter",
    "test_cco_obj",
    "test_cco_obj_inter",
    "test_op",
    "test_msgzero",
    "test_comm",
    "test_comm_inter",
    "test_attributes",
]
# Non-blocking and persistent collectives, and what else is done with requests.
NON_BLOCKING_MODULES = [
    "test_cco_nb_buf",
    "test_cco_pr_buf",
    "test_cco_nb_vec",
    "test_cco_pr_vec",
    "test_request",
]
ALL_MODULES = MODULES + NON_BLOCKING_MODULES
RANKS = {"openmpi": 3, "mpich": 2}
TOPOLOGIES = {"openmpi": "ppn=2+1", "mpich": "ppn=2"}
# The messages are short: of a few elements each, so that segments of 16 bytes are several too.
PIPELINING = ["", ":segments=4", ":segment_bytes=16:window=2"]
NATIVE = ["native", "native:segments=2", "native:segment_bytes=16"]
# The collectives whose calls by the library are cut into segments.
CUT_BY_LIBRARY = {"allreduce", "bcast", "reduce", "reduce_scatter", "allgather"}
# In these collectives only two ranks know the length of a block, so calls are not cut.
PRIVATE = {"alltoallv", "gatherv", "scatterv"}
# Statistics do not count them.
UNCOUNTED = ("barrier/",)


def forced_together(name: str) -> list[list[str]]:
    """Specs for all collectives together. Each algorithm that supports the topology is forced once."""
    topology = _core.Topology(TOPOLOGIES[name])
    ways: dict[str, list[str]] = {collective: [] for collective in _core.collectives()}
    for algorithm in _core.algorithms():
        if not _core.why_unsupported(algorithm.collective, algorithm.usual, topology):
            known = ways[algorithm.collective]
            is_cut = algorithm.collective not in PRIVATE and algorithm.collective != "barrier"
            pipelining = PIPELINING[len(known) % 3] if is_cut else ""
            known.append(f"{algorithm.collective}/{algorithm.usual}{pipelining}")
    for collective, specs in ways.items():
        native = NATIVE if collective in CUT_BY_LIBRARY else NATIVE[:1]
        specs += [f"{collective}/{spec}" for spec in native]
    turns = max(len(specs) for specs in ways.values())
    return [[specs[turn % len(specs)] for specs in ways.values()] for turn in range(turns)]


# The suite has some 70 files. Most of them run to their end by each library alone.
MOST_OF_THE_FILES = 40
# With fewer calls by Stretto than this, the suite cannot have run.
FEWEST_CALLS = 1000
# The same for each spec of several. The persistent half of the calls is skipped where the library has no such
# functions, as Open MPI 4.
FEWEST_CALLS_OF_A_SPEC = {"openmpi": 500, "mpich": 1000}
# The least number of tests that a rank runs. Open MPI 4.1 has no persistent collectives by MPI 4's names, so
# all their tests are skipped. MPICH 4.0 lacks three functions of MPI 4.1, whose tests are always skipped.
FEWEST_TESTS = 250
FEWEST_NON_BLOCKING_TESTS = {"openmpi": 115, "mpich": 147}


def of_each(allreduce: str, bcast: str, reduce: str, reduce_scatter: str, allgather: str) -> list[str]:
    """A spec for each collective."""
    ways = {
        "allreduce": allreduce,
        "bcast": bcast,
        "reduce": reduce,
        "reduce_scatter": reduce_scatter,
        "allgather": allgather,
    }
    return [f"{collective}/{spec}" for collective, spec in ways.items()]


RINGS = of_each(*(f"{name}:segments=3" for name in ("ring", "chain", "chain", "ring", "ring")))
TREES = of_each("rabenseifner", "binomial", "binomial", "pairwise", "recursive_doubling")
NARROW = [f"{spec}:segment_bytes=16:window=2" for spec in TREES]
PIECES = of_each(*["native:segments=2"] * 5)


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


def made_once(folder: Path, make: Callable[[Path], Path]) -> Path:
    """Returns a folder. If it does not exist, `make` fills a new folder, which then gets the name."""
    if not folder.is_dir():
        folder.parent.mkdir(exist_ok=True)
        # A new folder is filled and renamed, so that an interruption leaves no incomplete folder.
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        partial.mkdir()
        try:
            make(partial).rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


@pytest.fixture(scope="session")
def suite(pytestconfig: pytest.Config) -> Path:
    """Where mpi4py's tests lie; they are fetched once."""
    return made_once(
        pytestconfig.rootpath / ".cache" / f"mpi4py-{metadata.version('mpi4py')}-tests", fetch_suite
    )


@dataclass(frozen=True)
class Ran:
    """How some modules of the suite came out on the ranks, and what was printed."""

    reports: list[dict[str, Any]]
    output: str

    @property
    def failed(self) -> dict[str, str]:
        return {test: text for report in self.reports for test, text in report["failed"].items()}

    def check(self, fewest: int, excused: set[str]) -> None:
        """Checks that only excused tests have failed, and that at least `fewest` tests were run."""
        assert self.failed.keys() <= excused, "\n".join(self.failed.values())
        assert all(report["ran"] >= fewest for report in self.reports), [
            report["ran"] for report in self.reports
        ]


class RunSuite(Protocol):
    """Runs modules of the suite on an MPI by forced specs, or without Stretto."""

    def __call__(
        self,
        name: str,
        modules: Sequence[str],
        specs: Sequence[str] | None,
        folder: Path,
        settings: Mapping[str, str] | None = None,
    ) -> Ran: ...


@pytest.fixture(scope="module")
def run_suite(local_ranks: Callable[[str], LocalRanks], suite: Path) -> RunSuite:
    def run(
        name: str,
        modules: Sequence[str],
        specs: Sequence[str] | None,
        folder: Path,
        settings: Mapping[str, str] | None = None,
    ) -> Ran:
        script = str(Path(__file__).with_name("mpi4py_suite.py"))
        program = [sys.executable, script, str(suite), str(folder), *modules]
        # Measured calls take another path than unmeasured ones. Under the rule, the latter are tested.
        stats = None if not specs else folder / "stats.json"
        nodes = (settings or {}).get("STRETTO_TOPOLOGY", TOPOLOGIES[name])
        topology = None if specs is None else nodes
        output = local_ranks(name).run(
            RANKS[name], program, specs=specs, topology=topology, stats=stats, settings=settings, seconds=240
        )
        reports = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(RANKS[name])]
        return Ran(reports, output)

    return run


@pytest.fixture(scope="module")
def natively(run_suite: RunSuite, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], set[str]]:
    """What fails on an MPI by itself."""
    known: dict[str, set[str]] = {}

    def failures(name: str) -> set[str]:
        if name not in known:
            ran = run_suite(name, ALL_MODULES, None, tmp_path_factory.mktemp("native"))
            known[name] = set(ran.failed)
            # Otherwise Stretto would pass the tests with an MPI library that fails all of them.
            assert len(known[name]) < 5, known[name]
        return known[name]

    return failures


def calls_by_spec(stats: Path, name: str) -> Counter[str]:
    """How often each spec carried a collective out."""
    report = json.loads(stats.read_text())
    assert report["ranks"] == RANKS[name]
    calls: Counter[str] = Counter()
    for call in report["calls"]:
        calls[f"{call['collective']}/{call['spec']}"] += call["calls"]
    return calls


@pytest.mark.long
@pytest.mark.parametrize("name", list(RANKS))
def test_passes_under_the_rule(
    run_suite: RunSuite, natively: Callable[[str], set[str]], tmp_path: Path, name: str
) -> None:
    ran = run_suite(name, ALL_MODULES, (), tmp_path)
    ran.check(FEWEST_TESTS + FEWEST_NON_BLOCKING_TESTS[name], natively(name))


@pytest.mark.parametrize(
    ("name", "specs"),
    [
        pytest.param(name, specs, id=f"{name}-{specs[0]}", marks=[pytest.mark.long] if turn else [])
        for name in RANKS
        for turn, specs in enumerate(forced_together(name))
    ],
)
def test_passes_under(
    run_suite: RunSuite,
    natively: Callable[[str], set[str]],
    tmp_path: Path,
    name: str,
    specs: Sequence[str],
) -> None:
    run_suite(name, MODULES, specs, tmp_path).check(FEWEST_TESTS, natively(name))
    calls = calls_by_spec(tmp_path / "stats.json", name)
    # If an algorithm does not keep the order that an operation needs, the library carries the call out.
    assert all(calls[spec] for spec in specs if not spec.startswith(UNCOUNTED)), calls
    assert sum(calls[spec] for spec in specs) > FEWEST_CALLS, calls


@pytest.mark.parametrize(
    ("specs", "settings"),
    [
        pytest.param(RINGS, {}, id="rings", marks=pytest.mark.long),
        pytest.param(NARROW, {"STRETTO_PROGRESS_THREAD": "1"}, id="trees-helped"),
    ],
)
@pytest.mark.parametrize("name", list(RANKS))
def test_non_blocking_passes_under(
    run_suite: RunSuite,
    natively: Callable[[str], set[str]],
    tmp_path: Path,
    name: str,
    specs: Sequence[str],
    settings: Mapping[str, str],
) -> None:
    ran = run_suite(name, NON_BLOCKING_MODULES, specs, tmp_path, settings)
    ran.check(FEWEST_NON_BLOCKING_TESTS[name], natively(name))
    calls = calls_by_spec(tmp_path / "stats.json", name)
    assert all(calls[spec] > FEWEST_CALLS_OF_A_SPEC[name] for spec in specs), calls


@pytest.mark.long
@pytest.mark.parametrize("name", list(RANKS))
def test_non_blocking_passes_in_pieces(
    run_suite: RunSuite, natively: Callable[[str], set[str]], tmp_path: Path, name: str
) -> None:
    # Of the library's own calls only non-blocking ones can be cut, since ranks may start persistent calls in
    # different orders. Some of the calls here may go to the library's blocking function.
    ran = run_suite(name, NON_BLOCKING_MODULES, PIECES, tmp_path)
    ran.check(FEWEST_NON_BLOCKING_TESTS[name], natively(name))
    calls = calls_by_spec(tmp_path / "stats.json", name)
    assert all(calls[spec] for spec in PIECES), calls


@pytest.mark.long
@pytest.mark.parametrize("specs", [RINGS, TREES], ids=["rings", "trees"])
@pytest.mark.parametrize("name", list(RANKS))
def test_passes_with_connections_between_nodes(
    run_suite: RunSuite,
    natively: Callable[[str], set[str]],
    tmp_path: Path,
    name: str,
    specs: Sequence[str],
) -> None:
    settings = {
        "STRETTO_CONNECTIONS": "2",
        "STRETTO_STREAMS": "2",
        "STRETTO_TOPOLOGY": {"openmpi": "ppn=2+1", "mpich": "ppn=1+1"}[name],
    }
    ran = run_suite(name, ALL_MODULES, specs, tmp_path, settings)
    ran.check(FEWEST_TESTS + FEWEST_NON_BLOCKING_TESTS[name], natively(name))
    assert json.loads((tmp_path / "stats.json").read_text())["connections_from"] == 2


@pytest.mark.long
@pytest.mark.parametrize("name", list(RANKS))
def test_diagnosis_changes_nothing(
    run_suite: RunSuite, natively: Callable[[str], set[str]], tmp_path: Path, name: str
) -> None:
    # The suite's calls match, whatever their datatypes and forms are, so nothing is reported.
    settings = {"STRETTO_CHECK": "1", "STRETTO_WATCHDOG": "1h", "STRETTO_TRACE": str(tmp_path)}
    ran = run_suite(name, ["test_cco_buf", *NON_BLOCKING_MODULES], TREES, tmp_path, settings)
    ran.check(FEWEST_NON_BLOCKING_TESTS[name] + 50, natively(name))
    assert not [line for line in ran.output.splitlines() if line.startswith("stretto: STRETTO")], ran.output
    counted = calls_by_spec(tmp_path / "stats.json", name)
    traced = read_folder(tmp_path)
    assert (traced.missing, traced.complaints) == ([], [])
    calls = Counter(f"{call.name}/{call.spec}" for call in traced.traces[0].calls)
    for spec in TREES:
        assert calls[spec] == counted[spec], spec
    assert all(
        one.complete and not one.contradicts_clocks
        for one in join(itertools.chain.from_iterable(trace.calls for trace in traced.traces))
    )


def build_for_the_standard_abi(folder: Path) -> Path:
    """The installed version of mpi4py, from its source distribution."""
    compiler = mpi.find_install("mpich5").launcher.path.with_name("mpicc_abi")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    source = ["--no-binary", "mpi4py", "--target", str(folder), f"mpi4py=={metadata.version('mpi4py')}"]
    environment = os.environ | {"MPICC": str(compiler)}
    done = subprocess.run([*pip, *source], env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"mpi4py cannot be built for the standard ABI:\n{done.stderr}"
    return folder


@pytest.fixture(scope="session")
def for_the_standard_abi(pytestconfig: pytest.Config) -> Path:
    """A folder with mpi4py for the standard ABI of MPI 5, which is made once: no wheel of it has that."""
    return made_once(
        pytestconfig.rootpath / ".cache" / f"mpi4py-{metadata.version('mpi4py')}-abi",
        build_for_the_standard_abi,
    )


def run_module(ranks: LocalRanks, program: Sequence[str], folder: Path, *, stretto: bool) -> Any:
    """What each rank reports of one module, and what was printed; no reports if the job did not end well."""
    folder.mkdir(parents=True)
    specs = () if stretto else None
    output = ranks.run(2, [*program[:3], str(folder), *program[3:]], specs=specs, seconds=240, succeeds=None)
    files = [folder / f"rank{rank}.json" for rank in range(2)]
    return [json.loads(file.read_text()) for file in files if file.exists()], output


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", ["openmpi", "openmpi5", "mpich", "mpich5", "intelmpi", "abi"])
def test_a_program_that_asks_which_functions_there_are(
    local_ranks: Callable[[str], LocalRanks],
    suite: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
) -> None:
    """Each file of the suite by `stretto run` as it comes: the same tests run as without it, and pass."""
    if name == "abi":
        monkeypatch.setenv("PYTHONPATH", str(request.getfixturevalue("for_the_standard_abi")))
    ranks = local_ranks("mpich5" if name == "abi" else name)
    script = str(Path(__file__).with_name("mpi4py_suite.py"))
    wrong = {}
    compared = 0
    for file in sorted(suite.glob("test_*.py")):
        program = [sys.executable, script, str(suite), file.stem]
        alone, _ = run_module(ranks, program, tmp_path / "alone" / file.stem, stretto=False)
        if len(alone) < 2:
            continue  # the library itself ends this job
        under, output = run_module(ranks, program, tmp_path / "under" / file.stem, stretto=True)
        compared += 1
        if len(under) < 2:
            wrong[file.stem] = output[-2000:]
            continue
        for one, other in zip(alone, under, strict=True):
            failed = other["failed"].keys() - one["failed"].keys()
            skipped = set(other["skipped"]) - set(one["skipped"])
            if failed or skipped or one["ran"] > other["ran"]:
                wrong[file.stem] = "\n".join([*(other["failed"][test] for test in failed), *skipped])
    assert wrong == {}
    assert compared > MOST_OF_THE_FILES


@pytest.mark.long
def test_passes_for_the_standard_abi(
    local_ranks: Callable[[str], LocalRanks], suite: Path, for_the_standard_abi: Path, tmp_path: Path
) -> None:
    """By the library alone, by the rule, and with specs forced."""
    script = str(Path(__file__).with_name("mpi4py_suite.py"))
    for number, specs in enumerate((None, [], RINGS, TREES)):
        folder = tmp_path / str(number)
        folder.mkdir()
        stats = folder / "stats.json" if specs else None
        local_ranks("mpich5").run(
            2,
            [sys.executable, script, str(suite), str(folder), *ALL_MODULES],
            specs=specs,
            stats=stats,
            settings={"PYTHONPATH": str(for_the_standard_abi)},
            seconds=240,
        )
        for rank in range(2):
            report = json.loads((folder / f"rank{rank}.json").read_text())
            assert report["failed"] == {}
            assert report["ran"] > FEWEST_TESTS + FEWEST_NON_BLOCKING_TESTS["mpich"]
        if stats:
            calls = json.loads(stats.read_text())["calls"]
            own = sum(call["calls"] for call in calls if not call["spec"].startswith("native"))
            assert own > FEWEST_CALLS
