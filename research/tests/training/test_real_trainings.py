# SPDX-License-Identifier: Apache-2.0
"""Real trainings: PyTorch, and TensorFlow with Horovod (make frameworks), with and without Stretto."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

# Steps without communication need another graph. TensorFlow takes long to make it, especially for many
# layers.
BRIEF = ["--batch", "2", "--rounds", "2", "--steps", "1", "--compute-steps", "0"]


def command(model: str, *arguments: str) -> list[str]:
    network = ["--model", model, "--data", "digits"]
    return [sys.executable, "-m", "stretto", "train", *network, *BRIEF, *arguments]


def alexnet(tensorflow: Path, *arguments: str) -> list[str]:
    return command("alexnet", "--python", str(tensorflow), *arguments)


def pytorch(*arguments: str) -> list[str]:
    return command("resnet110", "--framework", "pytorch", *arguments)


def trained(line: list[str], file: Path) -> dict[str, Any]:
    ran = subprocess.run([*line, "-o", str(file)], capture_output=True, text=True, timeout=280)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def losses(content: dict[str, Any], count: int) -> list[float]:
    return [one["loss"] for one in content["losses"]][:count]


@pytest.mark.long
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_pytorch_learns_the_same_as_with_gloo(mpi: str, tmp_path: Path) -> None:
    specs = "native,ring:segments=4,auto"
    ours = trained(pytorch("--mpi", mpi, "--specs", specs, "--compute-steps", "1"), tmp_path / "ours.json")
    assert ours["compute_seconds"] > 0
    assert ours["nodes"] == 1
    assert [line["spec"] for line in ours["lines"]] == specs.split(",")
    assert all(line["images_per_second"]["median"] > 0 for line in ours["lines"])
    assert ours["parameters"] == 1_747_898
    gloo = trained(pytorch("--mpi", mpi, "--backend", "gloo"), tmp_path / "gloo.json")
    assert losses(ours, 3) == pytest.approx(losses(gloo, 3), rel=1e-3)


@pytest.mark.frameworks
def test_tensorflow_learns_the_same_with_and_without_stretto(tensorflow: Path, tmp_path: Path) -> None:
    specs = "native,ring:segments=4,auto"
    ours = trained(alexnet(tensorflow, "--specs", specs, "--compute-steps", "1"), tmp_path / "ours.json")
    assert ours["compute_seconds"] > 0
    assert ours["nodes"] == 1
    assert ours["parameters"] == 62_378_344
    assert "Horovod" in ours["about"]
    plain = trained(alexnet(tensorflow, "--without-stretto"), tmp_path / "plain.json")
    assert losses(ours, 3) == pytest.approx(losses(plain, 3), rel=1e-3)


@pytest.mark.frameworks
def test_tensorflow_with_float16_gradients(tensorflow: Path, tmp_path: Path) -> None:
    ours = trained(
        alexnet(tensorflow, "--compression", "fp16", "--specs", "native,ring"), tmp_path / "ours.json"
    )
    assert losses(ours, 4)[-1] > 0


@pytest.mark.long
def test_pytorch_with_bfloat16_gradients(tmp_path: Path) -> None:
    ours = trained(pytorch("--compression", "bf16", "--specs", "native,ring"), tmp_path / "ours.json")
    exact = trained(pytorch("--specs", "native,ring"), tmp_path / "exact.json")
    # Short floats have 8 bits, and these are the first steps.
    assert losses(ours, 2) == pytest.approx(losses(exact, 2), rel=0.05)


def test_an_interpreter_without_the_framework() -> None:
    ran = subprocess.run(command("resnet110"), capture_output=True, text=True, timeout=100)
    assert ran.returncode == 2
    assert "has no module tensorflow, keras, horovod" in ran.stderr
    assert "name another interpreter by --python" in ran.stderr


@pytest.mark.frameworks
@pytest.mark.parametrize("specs", [["--specs", "native"], ["--without-stretto"]])
def test_an_interpreter_whose_horovod_is_of_another_mpi(tensorflow: Path, specs: list[str]) -> None:
    """Each of its ranks would train by itself, as rank 0 of one."""
    line = alexnet(tensorflow, "--mpi", "mpich", *specs)
    ran = subprocess.run(line, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 2
    assert "for another MPI than the launcher's (mpich)" in ran.stderr


@pytest.mark.long
def test_a_rank_that_dies_ends_the_job(tmp_path: Path) -> None:
    """Within seconds, as the launcher sees it."""
    line = pytorch("--rounds", "1000", "-o", str(tmp_path / "x.json"))
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        worker = _a_worker(process.pid)
        os.kill(worker, signal.SIGKILL)
        _, error = process.communicate(timeout=100)
    assert process.returncode == 2
    assert "stretto: " in error
    assert not (tmp_path / "x.json").exists()


def _a_worker(ancestor: int) -> int:
    """When it is well under way."""
    for _ in range(300):
        found = [pid for pid in _below(ancestor) if "stretto_research/workers" in _command_of(pid)]
        found = [pid for pid in found if "python" in _command_of(pid).split("\0")[0]]
        if len(found) >= 2:
            time.sleep(10)
            return found[-1]
        time.sleep(0.1)
    raise AssertionError("no worker was started")


def _below(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in map(int, children) for one in (child, *_below(child))]


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
