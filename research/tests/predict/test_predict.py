# SPDX-License-Identifier: Apache-2.0
"""What `stretto predict` prints, draws and writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto import _core
from stretto.cli.main import app


def test_predict_draws_and_writes(tmp_path: Path) -> None:
    png, out = tmp_path / "p.png", tmp_path / "p.json"
    options = [
        "--nodes",
        "8",
        "--sizes",
        "1KiB..16MiB:16",
        "--formulas",
        "--png",
        str(png),
        "-o",
        str(out),
    ]
    result = CliRunner().invoke(app, ["predict", "allreduce", *options])
    assert result.exit_code == 0, result.output
    assert png.read_bytes().startswith(b"\x89PNG")
    rows = json.loads(out.read_text())["predictions"]
    assert {row["bytes"] for row in rows} == {1 << 10, 1 << 14, 1 << 18, 1 << 22}
    assert {"native", "RNG (formula)"} <= {row["spec"] for row in rows}
    assert "native" in result.output


def test_predict_of_other_collectives() -> None:
    for collective in _core.collectives()[1:]:
        result = CliRunner().invoke(
            app, ["predict", collective, "--nodes", "3", "--ppn", "2", "--sizes", "64KiB"]
        )
        assert result.exit_code == 0, result.output


def test_formulas_are_of_allreduce() -> None:
    result = CliRunner().invoke(app, ["predict", "bcast", "--sizes", "1KiB", "--formulas"])
    assert "--formulas: the papers have them for allreduce only" in result.output


def test_the_regret_is_printed() -> None:
    line = CliRunner().invoke(app, ["predict", "allreduce", "--machine", "altec", "--sizes", "1MiB"]).output
    assert "built-in rule: " in line
    assert "slower than the best (mean)" in line


def test_a_barrier_takes_as_long_at_every_size() -> None:
    times = {
        CliRunner().invoke(app, ["predict", "barrier", "--nodes", "4", "--sizes", size]).output
        for size in ("8", "1MiB", "1KiB..64KiB")
    }
    assert len(times) == 1
    refused = CliRunner().invoke(app, ["predict", "barrier", "--png", "a.png"], catch_exceptions=True)
    assert refused.exit_code != 0


@pytest.mark.parametrize("command", ["predict allreduce", "advise"])
def test_a_machine_that_was_measured_inside_a_node(command: str, tmp_path: Path) -> None:
    machine = tmp_path / "machine.json"
    levels = {"node": [{"from": 0, "latency": 1e-6, "bandwidth": 5e9}]}
    content = {"format": "stretto-machine", "version": 1, "name": "probed", "levels": levels}
    machine.write_text(json.dumps(content))
    result = CliRunner().invoke(app, [*command.split(), "--nodes", "8", "--machine", str(machine)])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "it was measured inside one node, so it has no figures for links between nodes" in result.stderr
