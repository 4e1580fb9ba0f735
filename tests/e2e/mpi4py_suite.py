# SPDX-License-Identifier: Apache-2.0
"""A rank's part of mpi4py's own tests: SUITE FOLDER MODULE... writes to FOLDER how they came out on it."""

from __future__ import annotations

import importlib
import json
import sys
import unittest
from pathlib import Path


def main() -> None:
    """Run the modules of the suite in one go and write down what failed."""
    suite, folder, *modules = sys.argv[1:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, suite)
    from mpi4py import MPI  # noqa: PLC0415  initializes MPI, after which the suite looks at it

    # The suite skips by this module what it knows to be broken in an MPI library.
    importlib.import_module("mpiunittest")
    tests = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(module) for module in modules)
    result = unittest.TextTestRunner(verbosity=0).run(tests)
    report = {
        "ran": result.testsRun - len(result.skipped),
        "failed": {test.id(): text for test, text in [*result.failures, *result.errors]},
    }
    (Path(folder) / f"rank{MPI.COMM_WORLD.rank}.json").write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
