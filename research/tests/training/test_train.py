# SPDX-License-Identifier: Apache-2.0
"""Errors of `stretto train`, and how it reads the events of a job (tests/e2e/test_training.py trains)."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from stretto.bench.targets import Target
from stretto.cli.main import app
from stretto.support.errors import StrettoError
from stretto_research.networks.architectures import ARCHITECTURES
from stretto_research.training import job, lines
from stretto_research.training.plot import draw_training
from stretto_research.training.result import Line, Training
from stretto_research.training.table import notes, table
from stretto_research.workers.cores import share_of_cores
from stretto_research.workers.images import DataError, find_source
from stretto_research.workers.options import Options
from stretto_research.workers.packages import import_complaint

OPTIONS = Options(
    framework="pytorch",
    model="resnet110",
    data="synthetic-cifar10",
    batch=2,
    steps=2,
    rounds=3,
    specs=("native", "ring"),
    compute_steps=1,
    threads=1,
    seed=1,
    learning_rate=0.01,
    compression="none",
    backend="stretto",
)


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["train", *arguments])
    assert result.exit_code == 2, result.output
    assert result.output.count("\n") == 1, result.output
    return result.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--model", "lenet"], "--model lenet: there is no such network; choose from alexnet, resnet50,"),
        (["--model", "alexnet", "--specs", "rings"], "rings"),
        (
            ["--model", "alexnet", "--specs", "native(ring)"],
            "own algorithm is fixed when a job starts",
        ),
        (["--model", "alexnet", "--compression", "bf16"], "Horovod has only none and fp16"),
        (["--model", "alexnet", "--batch", "1000000"], "give a smaller batch or fewer ranks"),
        (["--model", "alexnet", "--python", "/no/such/python"], "there is no such program"),
        (["--model", "alexnet", "-o", "/no/such/folder/x"], "there is no folder /no/such/folder"),
        (["--model", "alexnet", "--lab", "--lab-name", "nosuchlab"], "nosuchlab"),
        (["--model", "alexnet", "--lab", "--", "mpirun"], "give --lab or -- LAUNCHER, not both"),
        (["--model", "alexnet", "--framework", "pytorch", "--without-stretto"], "give --backend gloo"),
        (["--model", "alexnet", "--patience", "soon"], "soon"),
    ],
)
def test_wrong_options_are_one_line(arguments: list[str], expected: str) -> None:
    assert expected in said(*arguments)


def test_options_reach_the_workers() -> None:
    assert Options.from_text(OPTIONS.to_text()) == OPTIONS


def test_ranks_share_the_cores_of_their_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(16)))
    assert share_of_cores({}) == 16
    assert share_of_cores({"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}) == 4
    assert share_of_cores({"MPI_LOCALNRANKS": "3"}) == 5
    assert share_of_cores({"MPI_LOCALNRANKS": "40"}) == 1
    # A value that is no number is ignored.
    assert share_of_cores({"SLURM_NTASKS_PER_NODE": "2(x3)"}) == 16
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {5})
    assert share_of_cores({"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}) == 1


def test_labels_are_those_of_the_paper() -> None:
    assert [lines.label(spec) for spec in lines.parse(lines.USUAL)] == [
        "MPI default",
        "RNG",
        "NBL",
        "NBLx4",
        "Stretto",
    ]


def played(events: list[dict[str, Any]], status: int = 0, options: Options = OPTIONS) -> Training:
    """The training that results from a job with this output."""
    program = ["sh", "-c", f"cat; exit {status}"]
    text = "".join(json.dumps(event) + "\n" for event in events)

    class Playing:
        def __enter__(self) -> subprocess.Popen[str]:
            self.process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self.process.stdin
            self.process.stdin.write(text)
            self.process.stdin.close()
            return self.process

        def __exit__(self, *_: object) -> None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout
            self.process.stdout.close()

    target = cast("Target", SimpleNamespace(start=lambda *_args, **_more: Playing()))
    training = Training("pytorch", "ResNet110", "synthetic-cifar10", 2, [Line(one) for one in options.specs])
    job.run(target, "python", options, 5, training, lambda _done, _all: None)
    return training


def step(spec: int, turn: int | None, seconds: float, loss: float = 1.0) -> dict[str, Any]:
    return {"event": "step", "spec": spec, "round": turn, "seconds": seconds, "loss": loss}


START = {"event": "start", "about": "PyTorch", "ranks": 4, "nodes": 4, "parameters": 1_747_898}
GOOD = [
    START,
    {"event": "compute", "seconds": 0.5},
    step(0, None, 9.0, 3.0),
    step(1, None, 9.0),
    *(
        step(spec, turn, seconds)
        for turn in range(3)
        for spec, seconds in ((0, 1.9), (0, 2.1), (1, 0.9), (1, 1.1))
    ),
    {"event": "end"},
]


def test_figures() -> None:
    training = played(GOOD)
    auto, ring = training.lines
    assert training.images_per_second(auto).median == pytest.approx(4)
    assert training.images_per_second(ring).median == pytest.approx(8)
    gain = training.gain(ring)
    assert gain
    assert gain.median == pytest.approx(2)
    assert training.gain(auto) is None
    assert training.communication_share(auto) == pytest.approx(0.75)
    assert training.communication_share(ring) == pytest.approx(0.5)
    assert len(training.losses) == 2 + 12
    assert training.losses[0] == ("native", 3.0)


def test_what_is_shown(tmp_path: Path) -> None:
    training = played(GOOD)
    training.mpi, training.rate = "Open MPI 4", 25e6
    console = Console(width=160, record=True, file=io.StringIO())
    table(training).print(console)
    text = console.export_text()
    assert "MPI default" in text
    assert "2.00" in text
    assert "75 %" in text
    remarks = "\n".join(notes(training))
    assert "4 ranks on 4 nodes, links of 200mbit" in remarks
    assert "3 first, 1 last" in remarks
    draw_training(training, tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads(training.text())
    assert content["format"] == "stretto-training"
    assert content["lines"][1]["speedup"]["median"] == pytest.approx(2)


@pytest.mark.parametrize(
    ("events", "status", "expected"),
    [
        ([START, {"event": "error", "message": "no torch here"}], 1, "no torch here"),
        (GOOD[:5], 1, "ended before its last step, with status 1"),
        (GOOD[:5], 137, "for lack of memory"),
    ],
)
def test_jobs_that_fail(events: list[dict[str, Any]], status: int, expected: str) -> None:
    with pytest.raises(StrettoError, match=expected):
        played(events, status)


@pytest.mark.parametrize("name", ["synthetic-imagenet", "synthetic-cifar10", "digits"])
def test_batches_are_the_same_each_time_and_differ_by_rank(name: str) -> None:
    architecture = ARCHITECTURES["alexnet" if name == "synthetic-imagenet" else "resnet110"]()
    source = find_source(name, architecture)
    images, labels = source.batch(1, 0, 5, 4)
    assert images.shape == (4, *architecture.image)
    assert images.dtype == np.float32
    assert labels.max() < source.classes
    again, _ = source.batch(1, 0, 5, 4)
    other, _ = source.batch(1, 1, 5, 4)
    assert np.array_equal(images, again)
    assert not np.array_equal(images, other)


def test_more_classes_than_scores() -> None:
    with pytest.raises(DataError, match="1000 classes, and ResNet110 has 10 outputs"):
        find_source("synthetic-imagenet", ARCHITECTURES["resnet110"]())


def test_missing_packages_are_named_before_ranks_start(tmp_path: Path) -> None:
    # Without site packages there is only the standard library.
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    line = said("--model", "alexnet", "--python", str(bare), "--", "no-launcher-is-asked")
    assert f"{bare} has no module tensorflow, keras, horovod: --framework tensorflow needs" in line
    line = said("--model", "alexnet", "--framework", "pytorch", "--python", str(bare), "--mpi", "openmpi")
    assert f"{bare} has no module torch, numpy: --framework pytorch needs torch, numpy; install what" in line


def test_a_program_that_is_no_interpreter() -> None:
    assert "--python /bin/false does not work as an interpreter" in said(
        "--model", "alexnet", "--python", "/bin/false"
    )


def test_a_module_that_is_missing_is_named() -> None:
    missing = ModuleNotFoundError("No module named 'horovod'", name="horovod")
    assert import_complaint(missing, "tensorflow", "/env/python") == (
        "/env/python has no module horovod: --framework tensorflow needs tensorflow, keras, horovod; install "
        "what is missing, or name another interpreter by --python"
    )
    broken = ImportError("libcudart.so.12: cannot open\n shared object file")
    line = import_complaint(broken, "pytorch", "python")
    assert line.startswith("pytorch in python cannot be imported (libcudart.so.12: cannot open shared object")


def test_an_unknown_framework_is_one_line() -> None:
    line = said("--model", "alexnet", "--framework", "foo")
    assert line.startswith("stretto: Invalid value for '--framework': 'foo' is not one of 'tensorflow'")


def test_an_interrupted_training_keeps_whole_rounds() -> None:
    training = Training("pytorch", "ResNet110", "synthetic-cifar10", 2, [Line("native"), Line("ring")])
    training.lines[0].rounds = {0: [1.0, 1.0], 1: [1.0, 1.0], 2: [1.0]}
    training.lines[1].rounds = {0: [0.5, 0.5], 1: [0.5]}
    training.ranks = 2
    training.end_early("SIGTERM ended it before its last round", steps=2)
    assert [line.rounds for line in training.lines] == [{0: [1.0, 1.0]}, {0: [0.5, 0.5]}]
    assert training.to_json()["incomplete"] == "SIGTERM ended it before its last round"
    assert next(notes(training)) == "! SIGTERM ended it before its last round"
