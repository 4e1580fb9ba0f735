# SPDX-License-Identifier: Apache-2.0
"""Commands report before they begin if a file cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.python.cli.complaints import complaint, ending

from stretto.launch import jobs
from stretto_research.cli import simulate
from stretto_research.simulate import smpi

# {} stands for the file's name.
COMMANDS = [
    ["predict", "allreduce", "-o", "{}"],
    ["predict", "allreduce", "--png", "{}"],
    ["advise", "--nodes", "2", "--network", "100Gbit", "--latency", "2us", "-o", "{}"],
    ["advise", "--nodes", "2", "--network", "100Gbit", "--latency", "2us", "--table", "{}"],
    ["advise", "--nodes", "2", "--network", "100Gbit", "--latency", "2us", "--png", "{}"],
    ["train", "--model", "resnet110", "-o", "{}"],
    ["train", "--model", "resnet110", "--png", "{}"],
    ["simulate", "--xml", "{}"],
    ["simulate", "--png", "{}"],
    ["simulate", "--", "bench", "allreduce", "-o", "{}"],
    ["simulate", "--", "bench", "allreduce", "--csv", "{}"],
    ["simulate", "--", "bench", "allreduce", "--png", "{}"],
    ["replay", "alexnet", "-o", "{}"],
    ["replay", "alexnet", "--png", "{}"],
    ["reproduce", "pipelined/fig4", "--page", "{}"],
    ["regret", "-o", "{}"],
    ["regret", "--png", "{}"],
]
FOLDERS = [
    ["study", "-o", "{}"],
    ["reproduce", "pipelined/fig4", "-o", "{}"],
]


@pytest.fixture(autouse=True)
def nothing_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_arguments: object, **_more: object) -> None:
        raise AssertionError("it began")

    monkeypatch.chdir(tmp_path)
    for module, name in ((jobs, "start"), (smpi, "run_tasks"), (simulate, "ping_pong")):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr(os, "execvp", refuse)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_folder(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "nodir" / f"x.{ending(command)}"
    assert f"{file}: there is no folder {file.parent}" in complaint(command, file)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder_in_which_nobody_writes(command: list[str]) -> None:
    file = f"/proc/x.{ending(command)}"
    assert f"{file} cannot be written: " in complaint(command, file)


@pytest.mark.parametrize("command", FOLDERS, ids=" ".join)
def test_a_folder_that_cannot_be_made(command: list[str]) -> None:
    assert "/proc/x: " in complaint(command, "/proc/x")


@pytest.mark.parametrize("command", [one for one in COMMANDS if "--png" in one], ids=" ".join)
def test_an_ending_that_is_no_picture(command: list[str], tmp_path: Path) -> None:
    assert "x.foo: expected a name that ends in .png" in complaint(command, tmp_path / "x.foo")
