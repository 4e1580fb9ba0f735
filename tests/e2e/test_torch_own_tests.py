# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of backends pass on the backend "stretto", by MPI and without, and in place of gloo.

They come with the installed PyTorch. Tests that fail are also run on gloo. Tests that fail there have faults
of their own, or fail because ranks share cores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.torch_own_outcomes import Outcome, note_outcome, read_outcomes
from tests.e2e.torch_starting import PYTHON, torchrun

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "pytorch.md"
# More run with 4 than with 3.
RANKS = 4
SECONDS = 1500
# A test that ends the job, or hangs, costs another job.
MOST_JOBS = 8
SETTINGS = {"OMP_NUM_THREADS": "1"}

# Messages of PyTorch in tests that cannot pass on a backend that is not its own, and refusals of Stretto.
KNOWN_FAILURES = (
    "monitored_barrier is only implemented for GLOO backend",
    "String comparison failed: 'custom' != 'stretto'",
    "allreduce of a sparse tensor",
)
# Why PyTorch skips tests. One that is skipped for another reason fails this test.
REASONS = (
    r"CUDA|NCCL|Nccl|nccl",
    r"https://github\.com/pytorch/pytorch/",
    r"flak",
    r"no torchvision",
    r"Only MPI supports",
)


# Runs a program on all ranks, which may end in any way. Returns its output.
Start = Callable[[Sequence[str], dict[str, str]], str]


def run_suite(
    start: Start, backend: str, settings: dict[str, str], folder: Path, tests: Iterable[str] = ()
) -> dict[str, Outcome]:
    """Returns the outcomes of the tests. If a test ends the job, another job continues with the rest."""
    folder.mkdir()
    program = [*PYTHON, "-m", "tests.e2e.torch_own_tests", backend, str(folder), *tests]
    for _ in range(MOST_JOBS):
        output = start(program, {**SETTINGS, **settings})
        outcomes = read_outcomes(folder)
        ended = [outcome for outcome in outcomes.values() if outcome.result == "began"]
        if not ended:
            return outcomes
        note_outcome(folder, Outcome(ended[0].test, "failed", f"the job has ended:\n{output[-2000:]}"))
    pytest.fail(f"after {MOST_JOBS} jobs not all tests have been run:\n{output[-4000:]}")


def reasons_of(result: str, outcomes: dict[str, Outcome]) -> dict[str, str]:
    """The tests with this result, and why."""
    return {test: outcome.reason for test, outcome in outcomes.items() if outcome.result == result}


@pytest.mark.long
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize(
    ("way", "backend", "settings", "known_failures"),
    [
        ("mpirun", "stretto", {}, KNOWN_FAILURES),
        ("torchrun", "stretto", {}, KNOWN_FAILURES),
        ("--replace gloo", "gloo", {"STRETTO_REPLACE": "gloo"}, ()),
    ],
)
def test_they_pass(
    local_ranks: Callable[[str], LocalRanks],
    run_program: Callable[..., str],
    tmp_path: Path,
    way: str,
    backend: str,
    settings: dict[str, str],
    known_failures: tuple[str, ...],
) -> None:
    def start(program: Sequence[str], variables: dict[str, str]) -> str:
        if way == "mpirun":
            ranks = local_ranks("openmpi")
            return ranks.run(RANKS, program, settings=variables, seconds=SECONDS, succeeds=None)
        return run_program(torchrun(RANKS, program), variables, SECONDS, succeeds=None)

    outcomes = run_suite(start, backend, settings, tmp_path / "ours")
    skipped, failed = reasons_of("skipped", outcomes), reasons_of("failed", outcomes)
    unexplained = {test: why for test, why in skipped.items() if not re.search("|".join(REASONS), why)}
    assert not unexplained
    suspects = {test for test, why in failed.items() if not any(known in why for known in known_failures)}
    by_gloo: dict[str, Outcome] = {}
    if suspects:
        by_gloo = run_suite(start, "gloo", {}, tmp_path / "gloo", sorted(suspects))
    excused = suspects & reasons_of("failed", by_gloo).keys()
    ours = sorted(suspects - excused)
    assert not ours, "\n".join(f"{test}: {failed[test]}" for test in ours)
    passed = outcomes.keys() - skipped.keys() - failed.keys()
    assert len(passed | excused) == documented(way)
    for known in known_failures:
        assert any(known in why for why in failed.values()), f"fails no more: {known}"


def documented(way: str) -> int:
    """Returns the number of tests that pass according to the documentation."""
    text = DOCUMENT.read_text(encoding="utf-8")
    (header,) = re.findall(r"^\| tests \|(.*)\| why \|$", text, re.MULTILINE)
    (row,) = re.findall(r"^\| passed \|(.*)\|[^|]*\|$", text, re.MULTILINE)
    ways = [name.strip(" `") for name in header.split("|")]
    return int(row.split("|")[ways.index(way)])
