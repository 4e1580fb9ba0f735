# SPDX-License-Identifier: Apache-2.0
"""What goes wrong under Horovod ends the job with Horovod's own words, with Stretto as without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

RANKS = 3


def program(tensorflow: Path, case: str) -> list[str]:
    return [str(tensorflow), str(Path(__file__).parent / "horovod_failing.py"), case]


def test_ranks_with_different_numbers_of_batches_that_join(
    local_ranks: Callable[[str], LocalRanks], tensorflow: Path
) -> None:
    output = local_ranks("openmpi").run(RANKS, program(tensorflow, "join"), specs=["ring:segments=4"])
    assert output.splitlines().count("right") == 1


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("fewer", "Horovod has been shut down"),
        ("hook", "the gradient has failed"),
        ("killed", "signal 9"),
    ],
)
def test_the_job_ends(
    local_ranks: Callable[[str], LocalRanks], tensorflow: Path, case: str, line: str
) -> None:
    output = local_ranks("openmpi").run(
        RANKS, program(tensorflow, case), specs=["ring:segments=4"], succeeds=False
    )
    assert line in output, output
