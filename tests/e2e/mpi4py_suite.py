# SPDX-License-Identifier: Apache-2.0
"""A rank's part of mpi4py's own tests: SUITE FOLDER MODULE... writes this rank's results to FOLDER."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any

from mpi4py import MPI  # initializes MPI, after which the suite looks at it


class Result(unittest.TestResult):
    """Counts a test as skipped where mpi4py does not have the function that it is about."""

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802  unittest's name
        """Called when a test has raised something."""
        if isinstance(err[1], NotImplementedError):
            self.addSkip(test, "the MPI library has no such function")
        else:
            super().addError(test, err)


def main() -> None:
    """Run the modules of the suite in one go and write down what failed."""
    suite, folder, *modules = sys.argv[1:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, suite)
    tests = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(module) for module in modules)
    result = Result()
    tests.run(result)
    report = {
        "ran": result.testsRun - len(result.skipped),
        "skipped": sorted(test.id() for test, _ in result.skipped),
        "failed": {test.id(): text for test, text in [*result.failures, *result.errors]},
    }
    (Path(folder) / f"rank{MPI.COMM_WORLD.rank}.json").write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
