# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian and PyPI (programs.py) compute the same without Stretto, with Stretto as it comes, and
when Stretto's algorithms carry out all that they call."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.programs import PROGRAMS, RANKS, Program

from stretto import _core

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

# Each collective's first algorithm. The usual algorithms of allreduce and bcast, in several messages.
FORCED = {one.collective: one.usual for one in reversed(_core.algorithms())} | {
    "allreduce": "ring:segments=3",
    "bcast": "chain:segments=2",
}
SECONDS = 300


def number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


@pytest.mark.timeout(4 * SECONDS)
@pytest.mark.parametrize(
    "program", [pytest.param(one, id=one.name, marks=getattr(pytest.mark, one.mark)) for one in PROGRAMS]
)
def test_the_result_is_the_same(
    program: Program, local_ranks: Callable[[str], LocalRanks], tmp_path: Path
) -> None:
    def run(way: str, specs: Sequence[str] | None) -> list[float | str]:
        line, stats = program.line(tmp_path / way), tmp_path / f"{way}.json"
        output = local_ranks(program.mpi).run(RANKS, line, specs=specs, stats=stats, seconds=SECONDS)
        # Stretto prints nothing, since it intercepts all calls.
        assert "stretto: " not in output
        return [number(word) for word in program.results(output, tmp_path / way)]

    def calls(way: str) -> list[dict[str, Any]]:
        report = json.loads((tmp_path / f"{way}.json").read_text())
        assert report["ranks"] == RANKS
        found: list[dict[str, Any]] = report["calls"]
        return found

    needs = "scripts/setup packages" if program.mark == "packages" else "make frameworks"
    assert shutil.which(program.command[0]), f"{program.package}: not installed; get it with: {needs}"
    natively = run("native", None)
    expected = [
        pytest.approx(word, rel=program.tolerance) if isinstance(word, float) else word for word in natively
    ]
    assert run("auto", []) == expected
    assert run("forced", [f"{collective}/{spec}" for collective, spec in FORCED.items()]) == expected

    counts = [Counter[str](), Counter[str]()]
    for way, count in zip(("auto", "forced"), counts, strict=True):
        for call in calls(way):
            count[call["collective"]] += call["calls"]
    assert counts[0].keys() >= program.calls
    if program.calls_are_fixed:
        assert counts[0] == counts[1]
    left = {call["collective"] for call in calls("forced") if call["bytes"] > 0 and call["spec"] == "native"}
    assert left <= program.of_one
