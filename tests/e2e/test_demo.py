# SPDX-License-Identifier: Apache-2.0
"""The demo compares trainings in turns, and says what makes its figures doubtful."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from stretto.launch.mpi import find_install

# A training that notes that it ran, and gets faster from run to run.
TRAINING = """
import json, pathlib, sys
log = pathlib.Path(sys.argv[1])
log.write_text(log.read_text() + sys.argv[2])
speed = 100.0 * len(log.read_text()) * (2 if sys.argv[2] == "S" else 1)
pathlib.Path(sys.argv[-1]).write_text(json.dumps({"samples_per_second": speed, "accuracy": 0.5}))
"""


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    file = Path(__file__).parents[2] / "examples/demo.py"
    spec = importlib.util.spec_from_file_location("demo", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "demo", module)
    spec.loader.exec_module(module)
    return module


def test_trainings_take_turns(demo: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    calls = [
        ("allreduce", "ring", 9, 1 << 20),
        ("iallreduce", "native", 30, 1024),
        ("bcast", "chain", 99, 1 << 30),
    ]
    names = ("collective", "spec", "calls", "bytes_from")
    statistics = {"calls": [dict(zip(names, call, strict=True)) for call in calls]}

    def command(options: Sequence[str], stats: Path | None) -> list[str]:
        if stats:
            stats.write_text(json.dumps(statistics))
        return [sys.executable, "-c", TRAINING, str(log), "S" if stats else "n", *options]

    training, _ = demo.train("a machine", command, tmp_path / "x", 5, {})
    assert log.read_text() == "nSSnnS"
    # Each turn is compared with its neighbour: 400/100, 600/400, 1200/500.
    assert training.speedup == "2.40 (1.50-4.00)"
    assert (training.native, training.stretto, training.spec) == ("400 images/s", "600 images/s", "ring")


def test_the_summary_says_that_the_machine_was_busy(
    demo: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    install = find_install("openmpi")
    rows = [
        demo.Result("a", "1 MB/s", "2 MB/s", "2.00", "ring"),
        demo.Result("b", "1", "1", "0.56", "native", ["busy: 1.3"]),
    ]
    demo.print_summary(rows[:1], install)
    alone = capsys.readouterr().out
    assert "by ring" in alone
    assert "busy" not in alone
    demo.print_summary(rows, install)
    both = capsys.readouterr().out
    assert both.count("busy machine") == 1
    assert "! b: busy: 1.3" in both
    assert "! such figures say little" in both
