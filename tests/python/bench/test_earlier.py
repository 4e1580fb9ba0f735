# SPDX-License-Identifier: Apache-2.0
"""`stretto bench --compare`: what became slower since an earlier run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from stretto.bench.earlier import Change, complain_of_slower, find_changes, read_earlier
from stretto.cli.main import app
from stretto.results.runs import Run, Series
from stretto.support.errors import StrettoError
from stretto.support.estimates import estimate_median

if TYPE_CHECKING:
    from tests.python.conftest import MeasuringProgram


START = {
    "event": "start", "collective": "allreduce", "root": 0, "library": "Open MPI v4.1.4", "ranks": 8,
    "nodes": 8, "ppn": [1] * 8, "type": "float", "stretto": "0.1.0",
}  # fmt: skip
RING = {
    "event": "result", "bytes": 16 << 20, "in_place": False, "spec": "ring", "chosen": "ring", "inner": 1,
    "seconds": [1.0] * 6, "correct": True,
}  # fmt: skip


def series(spec: str, seconds: float, spread: float = 0.01, size: int = 1024) -> Series:
    samples = [seconds * (1 + spread * (one - 3) / 3) for one in range(7)]
    return Series(size, False, spec, spec, 1, samples, True)


def run_of(*some: Series) -> Run:
    return Run(library="Open MPI v4.1.4", ranks=8, nodes=8, ppn=[1] * 8, type="float", series=list(some))


def change(before: Series, now: Series) -> Change:
    return Change(now, estimate_median(before.seconds), estimate_median(now.seconds))


@pytest.mark.parametrize(
    ("now", "spread", "slower"),
    [
        (1.00, 0.01, False),
        (1.04, 0.001, False),  # within the tolerance
        (1.20, 0.01, True),
        (1.20, 0.50, False),  # the intervals overlap
        (0.50, 0.01, False),
    ],
)
def test_slower_is_beyond_tolerance_and_intervals(now: float, spread: float, slower: bool) -> None:
    assert change(series("ring", 1.0, spread), series("ring", now, spread)).is_slower(0.05) is slower


def test_cases_pair_up() -> None:
    before = run_of(series("ring", 1.0), series("swing", 1.0), series("ring", 1.0, size=2048))
    now = run_of(series("ring", 2.0), series("native", 1.0), series("ring", 1.0, size=4096))
    (only,) = find_changes(before, now)
    assert only.series.spec == "ring"
    assert only.ratio == pytest.approx(2.0)
    with pytest.raises(StrettoError, match=r"slower than before: ring at 1 KiB \(2.00 times\)") as caught:
        complain_of_slower([only], 0.05)
    assert caught.value.status == 1


def test_other_jobs_are_refused() -> None:
    now = run_of(series("ring", 1.0))
    other = run_of(series("ring", 1.0))
    other.ranks = 4
    with pytest.raises(StrettoError, match="the job differs: 4 ranks on 8 nodes before, 8"):
        find_changes(other, now)
    with pytest.raises(StrettoError, match="no size and spec in common"):
        find_changes(run_of(series("swing", 1.0)), now)


def test_other_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"format": "stretto-study"}')
    with pytest.raises(StrettoError, match="expected a file of stretto bench --output"):
        read_earlier(file, "allreduce")


def test_the_command_compares_with_its_own_file(program: MeasuringProgram, tmp_path: Path) -> None:
    program.let_print(START, RING, {"event": "end"})
    file = tmp_path / "before.json"
    words = ["bench", "allreduce", "--specs", "ring", "--sizes", "16MiB", "--mpi", "openmpi"]
    first = CliRunner().invoke(app, [*words, "-o", str(file), "--", "env"])
    assert first.exit_code == 0, first.output
    assert f"written to {file}" in first.output
    same = CliRunner().invoke(app, [*words, "--compare", str(file), "--", "env"])
    assert same.exit_code == 0, same.output
    assert "now / before" in same.output
    content = json.loads(file.read_text())
    for result in content["results"]:
        result["seconds"] = [0.1 * one for one in result["seconds"]]
    file.write_text(json.dumps(content))
    slower = CliRunner().invoke(app, [*words, "--compare", str(file), "--", "env"])
    assert slower.exit_code == 1
    assert "slower than before: ring at 16 MiB (10.0 times)" in slower.stderr
