# SPDX-License-Identifier: Apache-2.0
"""Commands report before they begin if a file cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stretto.launch import jobs

from .complaints import complaint, ending

# {} stands for the file's name.
COMMANDS = [
    ["bench", "allreduce", "-o", "{}"],
    ["bench", "allreduce", "--csv", "{}"],
    ["bench", "allreduce", "--png", "{}"],
    ["calibrate", "-o", "{}"],
    ["calibrate", "-o", "machine.json", "--png", "{}"],
    ["tune", "-o", "{}"],
    ["profile", "-o", "{}", "--", "mpirun", "true"],
    ["profile", "--png", "{}", "--", "mpirun", "true"],
    ["run", "--stats", "{}", "--", "mpirun", "true"],
    ["report", "x.json", "-o", "{}"],
    ["show", "ring", "-o", "{}"],
]
FOLDERS = [
    ["report", "x.json", "--charts", "{}"],
]


@pytest.fixture(autouse=True)
def nothing_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_arguments: object, **_more: object) -> None:
        raise AssertionError("it began")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jobs, "start", refuse)
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
