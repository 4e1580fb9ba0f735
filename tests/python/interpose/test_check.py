# SPDX-License-Identifier: Apache-2.0
"""STRETTO_CHECK ends the job with one line if calls differ across ranks. Other calls are unchanged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.python.libraries import on_one_library

if TYPE_CHECKING:
    from tests.python.conftest import Ran, Runner

RANKS = 3
FORCED = {
    "STRETTO_ALLREDUCE": "ring:segments=2",
    "STRETTO_BCAST": "chain:segments=3",
    "STRETTO_REDUCE": "binomial",
    "STRETTO_ALLGATHER": "bruck",
}
# In the communicator of mismatch.c, ranks are in reverse order.
CALL = "stretto: STRETTO_CHECK: call number 2 of a communicator of 3 ranks: "
WHERE = CALL + "rank 0 (2 of MPI_COMM_WORLD) {}, rank 1 (1 of MPI_COMM_WORLD) {}; the job ends"
BETWEEN = (
    CALL + "rank {} ({} of MPI_COMM_WORLD) sends {} bytes to "
    "rank {} ({} of MPI_COMM_WORLD), which expects {}; the job ends"
)
MISMATCHES = [
    ("collective", "calls allreduce", "calls bcast"),
    ("root", "has root 0", "has root 2"),
    ("operation", "reduces by MPI_SUM", "reduces by MPI_MAX"),
    ("element", "has elements of 4 bytes", "has elements of 8 bytes"),
    ("bytes", "has a message of 48 bytes", "has a message of 44 bytes"),
    ("bytes of a broadcast", "has a message of 48 bytes", "has a message of 44 bytes"),
]
FORMS = ["blocking", "non-blocking", "persistent"]


NOTICED = re.compile(r"stretto: rank \d: rank \d \(process \d+ of this node\) has ended, and .* waits")


def told_by(ran: Ran) -> list[str]:
    """The lines, but for those of ranks that notice the job's end before the launcher ends them."""
    return [line for line in ran.lines if not NOTICED.match(line)]


def check_told(mpi: Runner, form: str, what: str, differences: tuple[str, str], more: dict[str, str]) -> None:
    program = [str(mpi.compiled("mismatch.c")), form, what]
    ran = mpi.run(program, ranks=RANKS, STRETTO_CHECK="1", more=more)
    assert ran.code != 0, ran.output
    assert told_by(ran) == [WHERE.format(*differences)], ran.output
    assert "right" not in ran.output.splitlines()


@on_one_library
@pytest.mark.parametrize("form", FORMS[:2])
@pytest.mark.parametrize(("what", "left", "right"), MISMATCHES)
def test_a_mismatch(mpi: Runner, form: str, what: str, left: str, right: str) -> None:
    check_told(mpi, form, what, (left, right), FORCED)


@on_one_library
def test_operations_of_the_program_of_which_one_commutes(mpi: Runner) -> None:
    texts = ("has an operation that commutes", "has an operation that does not commute")
    check_told(mpi, "blocking", "commutes", texts, FORCED)


@on_one_library
@pytest.mark.parametrize(("what", "left", "right"), MISMATCHES[:2])
def test_a_mismatch_of_persistent_calls(mpi: Runner, what: str, left: str, right: str) -> None:
    check_told(mpi, "persistent", what, (left, right), FORCED)


@on_one_library
@pytest.mark.parametrize(
    ("form", "other"),
    [("blocking", "non-blocking"), ("non-blocking", "blocking"), ("persistent", "blocking")],
)
def test_a_mismatch_of_forms(mpi: Runner, form: str, other: str) -> None:
    texts = (f"makes a {form} call", f"makes a {other} call")
    check_told(mpi, form, "face", texts, FORCED)


@on_one_library
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("what", "left", "right"), [MISMATCHES[0], MISMATCHES[-1]])
def test_a_mismatch_in_what_the_library_may_carry_out(
    mpi: Runner, form: str, what: str, left: str, right: str
) -> None:
    check_told(mpi, form, what, (left, right), {})


# Only the two ranks between which a block moves know its length.
PRIVATE = {
    "alltoallv": (0, 2, 48, 1, 1, 44),
    "alltoallw": (0, 2, 48, 1, 1, 44),
    "gatherv": (1, 1, 44, 0, 2, 48),
    "scatterv": (0, 2, 48, 1, 1, 44),
}
PRIVATE_SPECS = {
    "STRETTO_ALLTOALLV": "pairwise",
    "STRETTO_GATHERV": "linear",
    "STRETTO_SCATTERV": "linear",
}


@on_one_library
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", PRIVATE)
def test_a_length_that_two_ranks_know(mpi: Runner, form: str, what: str) -> None:
    program = [str(mpi.compiled("mismatch.c")), form, what]
    ran = mpi.run(program, ranks=RANKS, STRETTO_CHECK="1", more={**FORCED, **PRIVATE_SPECS})
    assert ran.code != 0, ran.output
    assert told_by(ran) == [BETWEEN.format(*PRIVATE[what])], ran.output


@on_one_library
@pytest.mark.parametrize("what", PRIVATE)
def test_a_length_in_what_the_library_carries_out(mpi: Runner, what: str) -> None:
    program = [str(mpi.compiled("mismatch.c")), "blocking", what]
    ran = mpi.run(program, ranks=RANKS, STRETTO_CHECK="1")
    assert ran.code != 0, ran.output
    assert told_by(ran) == [BETWEEN.format(*PRIVATE[what])], ran.output


@on_one_library
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", PRIVATE)
def test_lengths_that_match(mpi: Runner, form: str, what: str) -> None:
    program = [str(mpi.compiled("mismatch.c")), form, f"right {what}"]
    ran = mpi.run(program, ranks=RANKS, STRETTO_CHECK="1", more={**FORCED, **PRIVATE_SPECS})
    assert ran.right, ran.output
    assert ran.lines == []


@pytest.mark.parametrize("form", FORMS)
def test_calls_that_match(mpi: Runner, form: str) -> None:
    program = [str(mpi.compiled("mismatch.c")), form, "none"]
    ran = mpi.run(program, ranks=RANKS, STRETTO_CHECK="1", more=FORCED)
    assert ran.right, ran.output
    assert ran.lines == []


@pytest.mark.parametrize("what", ["order", "datatypes"])
def test_a_program_that_is_unusual_but_right(mpi: Runner, what: str) -> None:
    program = [str(mpi.compiled("unusual.c")), what]
    for settings in ({"STRETTO_DISABLE": "1"}, FORCED, {**FORCED, "STRETTO_CHECK": "1"}):
        ran = mpi.run(program, ranks=RANKS, more=settings)
        assert ran.right, ran.output
        assert ran.lines == []


@pytest.mark.parametrize("what", ["order", "datatypes"])
def test_an_unusual_program_that_the_library_carries_out(mpi: Runner, what: str) -> None:
    ran = mpi.run([str(mpi.compiled("unusual.c")), what], ranks=RANKS, STRETTO_CHECK="1")
    assert ran.right, ran.output
    assert ran.lines == []
