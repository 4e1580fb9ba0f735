# SPDX-License-Identifier: Apache-2.0
"""`stretto doctor --json`, for other programs."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from stretto.cli.main import app


def test_the_report_as_json() -> None:
    shown = CliRunner().invoke(app, ["doctor", "--json"])
    assert shown.exit_code == 0, shown.output
    report = json.loads(shown.stdout)
    assert report["format"] == "stretto-doctor"
    assert {"openmpi", "mpich"} <= set(report["ready_for"])
    found = {finding["what"]: finding for finding in report["findings"]}
    assert found["Open MPI 4"]["verdict"] == "good"
    assert found["libstretto.so"]["verdict"] == "good"
    assert found["stretto exec"]["verdict"] == "good"
    assert report["choice"]
    for finding in [*report["findings"], *report["choice"], *report["network"]]:
        assert finding.keys() == {"verdict", "what", "detail"}
        assert finding["verdict"] in ("good", "absent", "bad")
