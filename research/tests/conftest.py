# SPDX-License-Identifier: Apache-2.0
"""What these tests share with those of Stretto, and the sample files that Stretto itself does not write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import (
    ALLREDUCE,
    JITTER,
    no_memory_of_this_network,
    no_table_of_this_machine,
    ranks_that_wait_yield,
    samples,
)
from tests.python.cli.documents import run_both
from tests.python.conftest import program
from tests.python.launch.test_jobs import environment

from stretto.results.runs import Run, Series
from stretto_research.study.guidelines import check, mockups
from stretto_research.study.guidelines_file import Guidelines, LibraryChecks, guidelines_text

__all__ = [
    "environment",
    "no_memory_of_this_network",
    "no_table_of_this_machine",
    "program",
    "ranks_that_wait_yield",
    "run_both",
    "samples",
]


def sample_checks(library: str) -> LibraryChecks:
    """Checks in which the library violates one guideline, and Stretto none."""
    series = []
    for spec in ("native", "auto"):
        for mockup in ["", *mockups("allreduce")]:
            slow = spec == "native" and mockup == ""
            half = 0.5 if mockup == "allreduce/2" else 1.0
            seconds = [(2.0 if slow else 1.0) * half * jitter for jitter in JITTER]
            series.append(Series(1 << 20, False, spec, spec, 1, seconds, True, mockup=mockup))
    run = Run(ALLREDUCE, 0, library, "0.1.0", 8, 8, [1] * 8, "float", series)
    return LibraryChecks(library, 8, 8, [1] * 8, "float", check(run))


PREDICTIONS: dict[str, Any] = {
    "format": "stretto-prediction",
    "version": 1,
    "machine": "sample",
    "mpi": "Open MPI 4.1.4",
    "predictions": [
        {
            "collective": "allreduce",
            "spec": spec,
            "bytes": size,
            "nodes": 8,
            "ppn": 1,
            "predicted": size / 12e6 * off,
            "measured": size / 12e6,
        }
        for spec, off in (("ring", 1.1), ("rabenseifner", 0.6))
        for size in (1 << 20, 16 << 20)
    ],
}


@pytest.fixture(scope="session")
def more_samples(samples: Path) -> Path:
    """The folder of samples, with guidelines and predictions."""
    guidelines = Guidelines("an emulated cluster", [sample_checks("Open MPI v4.1.4")])
    (samples / "guidelines.json").write_text(guidelines_text(guidelines, ["stretto"]))
    (samples / "predictions.json").write_text(json.dumps(PREDICTIONS))
    return samples
