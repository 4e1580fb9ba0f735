# SPDX-License-Identifier: Apache-2.0
"""The model is judged by what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto.cli.main import app
from stretto.explain.measured import read_measured
from stretto.model.walker import Call, Model, load_machine
from stretto_research.predict.judgement import judge

WHERE = "nodes=8,ppn=1"


def run_file(folder: Path, times: dict[str, float], size: int = 16 << 20) -> Path:
    """Writes a file of stretto bench -o for one size."""
    results = [
        {
            "bytes": size,
            "in_place": False,
            "spec": spec,
            "form": "blocking",
            "chosen": spec,
            "correct": True,
            "inner": 1,
            "with_barrier": False,
            "seconds": [0.9 * seconds, seconds, 1.2 * seconds],
        }
        for spec, seconds in times.items()
    ]
    content = {
        "format": "stretto-bench",
        "collective": "allreduce",
        "mpi": "Open MPI v4.1.4",
        "ranks": 8,
        "nodes": 8,
        "ppn": [1] * 8,
        "type": "float",
        "results": results,
    }
    file = folder / "run.json"
    file.write_text(json.dumps(content))
    return file


def test_a_model_is_judged_by_what_was_measured(tmp_path: Path) -> None:
    model = Model(load_machine("altec"))
    call = Call("allreduce", 16 << 20, WHERE)
    ring, doubling = (model.predict(call, spec).seconds for spec in ("ring", "recursive_doubling"))
    assert ring < doubling
    # The model is right about the ring, 50 % too low about recursive doubling, and its choice is the second.
    measured = read_measured(
        [run_file(tmp_path, {"ring": ring, "recursive_doubling": 2 * doubling, "swing": 0.5 * ring})]
    )
    judgement = judge(model, measured, 1 << 20, 1 << 30)
    errors = {pair.spec: pair.error for pair in judgement.pairs}
    assert errors["ring"] == pytest.approx(0)
    assert errors["recursive_doubling"] == pytest.approx(-0.5)
    (choice,) = judgement.choices
    assert choice.best == "swing"
    assert choice.regret == pytest.approx(0 if choice.chosen == "swing" else 1)
    assert not judge(model, measured, 1 << 30, 1 << 31).pairs


def test_judging_prints_the_figures_that_count(tmp_path: Path) -> None:
    file = run_file(tmp_path, {"ring": 0.004, "recursive_doubling": 0.008})
    out = tmp_path / "predictions.json"
    result = CliRunner().invoke(app, ["predict", "allreduce", "--against", str(file), "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert "regret of choosing by the model alone" in result.output
    content = json.loads(out.read_text())
    assert content["format"] == "stretto-prediction"
    assert {row["spec"] for row in content["predictions"]} == {"ring", "recursive_doubling"}
