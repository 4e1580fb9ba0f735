# SPDX-License-Identifier: Apache-2.0
"""The training script of the examples learns the same with Stretto and without."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

STEPS = 40


@pytest.fixture(scope="module")
def trained(
    local_ranks: Callable[[str], LocalRanks], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, int, str | None], dict[str, Any]]:
    """Trains once for each MPI, number of ranks and spec."""
    known: dict[tuple[str, int, str | None], dict[str, Any]] = {}

    def train(name: str, ranks: int, spec: str | None) -> dict[str, Any]:
        if (name, ranks, spec) not in known:
            folder = tmp_path_factory.mktemp("digits")
            figures, stats = folder / "figures.json", folder / "stats.json"
            script = [sys.executable, "examples/train_digits.py", "--steps", str(STEPS)]
            script += ["--json", str(figures)]
            local_ranks(name).run(ranks, script, specs=None if spec is None else [spec], stats=stats)
            known[name, ranks, spec] = json.loads(figures.read_text())
            if spec is not None:
                calls = json.loads(stats.read_text())["calls"]
                by_spec = {call["spec"]: call["calls"] for call in calls if call["collective"] == "allreduce"}
                assert by_spec == {spec: STEPS}
        return known[name, ranks, spec]

    return train


Trained = Callable[[str, int, str | None], dict[str, Any]]


@pytest.mark.parametrize(
    "spec",
    [
        "ring:segments=4",
        pytest.param("rabenseifner", marks=pytest.mark.long),
        pytest.param("native:segments=2", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_two_ranks_learn_the_same_bits(trained: Trained, name: str, spec: str) -> None:
    # A sum of two numbers has only one order, so no MPI library may give a different result.
    without, with_stretto = trained(name, 2, None), trained(name, 2, spec)
    assert without["accuracy"] > 0.85
    assert with_stretto["accuracy"] == without["accuracy"]
    assert with_stretto["digest"] == without["digest"]


@pytest.mark.long
def test_three_ranks_learn_the_same_within_a_sample(trained: Trained) -> None:
    # Another order of the sums changes last bits, which may change the class of one image.
    without, with_stretto = trained("openmpi", 3, None), trained("openmpi", 3, "ring:segments=4")
    assert without["accuracy"] > 0.85
    difference = abs(with_stretto["accuracy"] - without["accuracy"]) * without["test_samples"]
    assert round(difference) <= 1
