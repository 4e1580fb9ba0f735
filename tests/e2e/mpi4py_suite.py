# SPDX-License-Identifier: Apache-2.0
"""A rank's part of mpi4py's own tests: SUITE FOLDER MODULE... writes this rank's results to FOLDER."""

from __future__ import annotations

import importlib
import json
import sys
import unittest
from pathlib import Path
from typing import Any

from mpi4py import MPI  # initializes MPI, after which the suite looks at it


def is_about_missing(error: BaseException) -> bool:
    """Whether the MPI library lacks a function: mpi4py finds none, or Stretto has none to call."""
    if isinstance(error, MPI.Exception):
        return error.Get_error_class() == MPI.ERR_UNSUPPORTED_OPERATION
    return isinstance(error, NotImplementedError)


class Result(unittest.TestResult):
    """Counts a test as skipped where the MPI library lacks the function that it is about."""

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802  unittest's name
        """Called when a test has raised something."""
        if is_about_missing(err[1]):
            self.addSkip(test, "the MPI library has no such function")
        else:
            super().addError(test, err)


def main() -> None:
    """Run the modules of the suite in one go and write down what failed."""
    suite, folder, *modules = sys.argv[1:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, suite)
    # The suite skips by this module what it knows to be broken in an MPI library.
    known: Any = importlib.import_module("mpiunittest")
    # It leaves out all persistent collectives where there is no MPI_Barrier_init: Open MPI 4.1 has none, but
    # under Stretto it has others.
    disable = known.disable
    known.disable = lambda what, why: None if why == "mpi-coll-persist" else disable(what, why)
    tests = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(module) for module in modules)
    result = Result()
    tests.run(result)
    report = {
        "ran": result.testsRun - len(result.skipped),
        "failed": {test.id(): text for test, text in [*result.failures, *result.errors]},
    }
    (Path(folder) / f"rank{MPI.COMM_WORLD.rank}.json").write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
