# SPDX-License-Identifier: Apache-2.0
"""A rank's part of PyTorch's own tests: python -m tests.e2e.torch_own_tests BACKEND FOLDER [TEST ...].

BACKEND: stretto or gloo. With STRETTO_REPLACE=gloo, gloo is Stretto.

Outcomes are recorded in FOLDER. Tests with a recorded outcome are not run again, so if a test ends the job,
another job can continue. TEST ...: runs only these tests.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import os
import sys
import tempfile
import traceback
import unittest
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.e2e.torch_own_outcomes import Outcome, note_outcome, read_outcomes

if "RANK" not in os.environ:
    importlib.import_module("stretto.torch")  # begins MPI

# Not typed, or not exported as mypy wants it.
dist: Any = importlib.import_module("torch.distributed")
common_distributed: Any = importlib.import_module("torch.testing._internal.common_distributed")
common_utils: Any = importlib.import_module("torch.testing._internal.common_utils")

SUITE = "torch.testing._internal.distributed.distributed_test"
# The suite decides by the backend's name, when it is imported, which tests apply. Stretto supports what gloo
# and MPI support: gloo trains models, and MPI exchanges between all ranks.
DIALECTS = {"stretto": ("gloo", "mpi"), "gloo": ("gloo",)}
# Tests take long where ranks share cores.
SECONDS_OF_TEST = 240
BARRIER_SECONDS = 120


class Name(str):
    """The name of the tested backend, which also equals the name of its dialect."""

    dialect: str

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) or other == self.dialect

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def load_suite(dialect: str, backend: str) -> Any:
    """The suite as it is for the backend `dialect`, made to run on another one."""
    os.environ["BACKEND"] = dialect
    spec = importlib.util.find_spec(SUITE)
    assert spec is not None
    assert spec.loader is not None
    suite: Any = importlib.util.module_from_spec(spec)
    # Tests pickle classes of the suite.
    sys.modules[SUITE] = suite
    spec.loader.exec_module(suite)
    os.environ["BACKEND"] = backend
    # Tests also ask at run time what the backend supports.
    suite.BACKEND = Name(backend)
    suite.BACKEND.dialect = dialect
    for name in ("PROFILING_SUPPORTED_BACKENDS", "SEND_RECV_PROFILING_SUPPORTED_BACKENDS"):
        # In place of gloo, Stretto has its own name in profiles.
        setattr(suite, name, [] if os.environ.get("STRETTO_REPLACE") else [*getattr(suite, name), backend])
    return suite


class Ranks:
    """The ranks of the job, which meet in a store of their own, whatever the tested backend does."""

    def __init__(self) -> None:
        self.rank = int(os.environ["RANK"])
        self.size = int(os.environ["WORLD_SIZE"])
        self.store = dist.TCPStore(
            os.environ["MASTER_ADDR"],
            int(os.environ["MASTER_PORT"]),
            self.size,
            # torchrun has one.
            is_master=self.rank == 0 and "TORCHELASTIC_USE_AGENT_STORE" not in os.environ,
            timeout=timedelta(seconds=SECONDS_OF_TEST),
        )

    def gather(self, name: str, mine: str) -> list[str]:
        """Returns the text of each rank."""
        self.store.set(f"{name}/{self.rank}", mine)
        return [self.store.get(f"{name}/{rank}").decode() for rank in range(self.size)]


def make_case(suite: Any, test: str, rank: int, folder: Path) -> Any:
    """One test, as the suite makes it in the processes that it starts."""

    class Case(suite.TestDistBackend, suite.DistributedTest._DistTestBase):  # type: ignore[misc]
        def _barrier(self, wait_for: int | None = None, timeout: float = 0) -> None:
            suite.Barrier.sync(wait_for, timeout=max(timeout, BARRIER_SECONDS))

    case = Case(test)
    case.rank = rank
    case.file_name = str(folder / "store")
    suite.INIT_METHOD = f"file://{folder}/second_store"
    suite.Barrier.barrier_id = 0
    os.environ["TEMP_DIR"] = str(folder)
    for name in ("barrier", "test_dir"):
        (folder / name).mkdir(exist_ok=True)
    return case


def run_case(suite: Any, case: Any, test: str) -> tuple[str, str]:
    """Returns the result of the test on this rank, and the reason."""
    skips = {skip.exit_code: skip.message for skip in common_distributed.TEST_SKIPS.values()}
    try:
        dist.init_process_group(
            str(suite.BACKEND),
            init_method=case.init_method,
            world_size=int(case.world_size),
            rank=case.rank,
            timeout=timedelta(seconds=suite.CUSTOM_PG_TIMEOUT.get(test, suite.default_pg_timeout)),
        )
        case._barrier()
        common_utils.set_rng_seed()
        getattr(case, test)()
    except unittest.SkipTest as skip:
        return "skipped", str(skip)
    except SystemExit as end:
        if end.code in skips:
            return "skipped", skips[end.code]
        return "failed", f"ended with {end.code}"
    except Exception:
        return "failed", traceback.format_exc()
    return "passed", ""


def run_test(suite: Any, test: str, ranks: Ranks, folder: Path) -> Outcome:
    """Run a test on all ranks. Returns the worst outcome of any rank."""
    faulthandler.dump_traceback_later(SECONDS_OF_TEST, exit=True)
    case = make_case(suite, test, ranks.rank, folder)
    environment = dict(os.environ)
    mine = run_case(suite, case, test)
    os.environ.clear()
    os.environ.update(environment)
    dist.set_debug_level_from_env()
    all_came_out = [json.loads(text) for text in ranks.gather(f"{test}/outcome", json.dumps(mine))]
    if dist.is_initialized():
        dist.destroy_process_group()
    faulthandler.cancel_dump_traceback_later()
    for result in ("failed", "skipped"):
        for rank, (its, reason) in enumerate(all_came_out):
            if its == result:
                return Outcome(test, result, f"rank {rank}: {reason}" if result == "failed" else reason)
    return Outcome(test, "passed")


def tests_of(suites: list[Any]) -> Iterator[tuple[str, Any, str]]:
    """Names of tests, the suite that has each, and why each is skipped or ""."""
    for test in unittest.defaultTestLoader.getTestCaseNames(suites[0].DistributedTest._DistTestBase):
        reason = ""
        for suite in suites:
            function = getattr(suite.DistributedTest._DistTestBase, test)
            if not getattr(function, "__unittest_skip__", False):
                yield test, suite, ""
                break
            reason = reason or function.__unittest_skip_why__
        else:
            yield test, suites[0], reason


def main() -> None:
    """Run the tests that have not been run."""
    backend, folder, *only = sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]
    ranks = Ranks()
    # The suite skips these tests for all backends but MPI.
    common_distributed.skip_if_small_worldsize = lambda test: test
    os.environ["INIT_METHOD"] = "file://"
    suites = [load_suite(dialect, backend) for dialect in DIALECTS[backend]]
    known = read_outcomes(folder)
    ranks.gather("known", "")

    def note(outcome: Outcome) -> None:
        if ranks.rank == 0:
            note_outcome(folder, outcome)

    for test, suite, reason in tests_of(suites):
        if test in known or (only and test not in only):
            continue
        if reason:
            note(Outcome(test, "skipped", reason))
            continue
        note(Outcome(test, "began"))
        mine = tempfile.mkdtemp(dir=folder, prefix=test) if ranks.rank == 0 else ""
        scratch = Path(ranks.gather(f"{test}/folder", mine)[0])
        sys.modules[SUITE] = suite
        note(run_test(suite, test, ranks, scratch))
    # Rank 0 keeps the store.
    ranks.gather("end", "")


if __name__ == "__main__":
    main()
