# SPDX-License-Identifier: Apache-2.0
"""`stretto fabric`: the list of fabric files, what one of them says, and how they are deleted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stretto.cli.main import app
from stretto.model import known_fabrics
from stretto.support.errors import StrettoError

DECISION: dict[str, Any] = {"nodes": 3, "ppn": 1, "call": "allreduce", "from": "1MiB", "spec": "ring"}
MEASURED: dict[str, Any] = {
    "nodes": 2,
    "ppn": 1,
    "when": "2026-11-24",
    "machine": {
        "name": "probed",
        "levels": {"network": [{"from": 0, "latency": 4.5e-5, "bandwidth": 2.39e7}]},
        "engine": {"message": 2.5e-6, "round": 0},
    },
}


def content(**more: Any) -> str:
    fabric = {"mpi": "Open MPI 4.1.4", "network": "BTL=tcp", "processor": "Some CPU", "hosts": "node#"}
    return json.dumps({"format": "stretto-fabric", "version": 1, "fabric": fabric, "decisions": [], **more})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files: a damaged one, one without findings, and one with all of them, which is the latest."""
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))
    monkeypatch.delenv("STRETTO_FABRIC", raising=False)
    folder = tmp_path / "fabrics"
    folder.mkdir()
    decisions = [
        DECISION | {"from": "4MiB", "in_place": True, "spec": "native", "busy": 0.3},
        DECISION | {"when": "2026-11-24", "gain": 1.62, "seconds": 0.0597, "bytes": "1MiB"},
        DECISION | {"call": "bcast", "ppn": 3, "min_ppn": 2, "spec": "chain:segments=8"},
    ]
    texts = (
        "{",
        content(),
        content(decisions=decisions, measured=MEASURED | {"busy": 0.3, "connections_from": 32768}),
    )
    for second, (name, text) in enumerate(zip(("damaged", "mpich-2", "openmpi-1"), texts, strict=True)):
        file = folder / f"{name}.json"
        file.write_text(text)
        os.utime(file, (second, second))
    return folder


def fabric(*words: str) -> Result:
    return CliRunner().invoke(app, ["fabric", *words], env={"COLUMNS": "200"})


def test_the_list(folder: Path) -> None:
    shown = fabric("list")
    assert shown.exit_code == 0, shown.output
    lines = [line.split() for line in shown.stdout.splitlines() if line.strip()]
    latest = [
        "openmpi-1",
        "Open",
        "MPI",
        "4.1.4",
        "node#",
        "2026-11-24,",
        "2",
        "nodes",
        "50",
        "µs",
        "23.9",
        "3",
    ]
    assert lines[2][: len(latest)] == latest
    assert lines[2][len(latest) :] == ["measured", "on", "a", "busy", "machine"]
    assert lines[3] == ["mpich-2", "Open", "MPI", "4.1.4", "node#", "not", "yet", "0"]
    assert lines[4][0] == "damaged"
    assert lines[4][-7:] == ["jobs", "ignore", "this", "file", "and", "replace", "it"]
    assert lines[5][:2] == ["in", f"{folder};"]


def test_the_list_for_programs(folder: Path) -> None:
    document = json.loads(fabric("list", "--json").stdout)
    latest, empty, damaged = document["fabrics"]
    assert latest["file"] == str(folder / "openmpi-1.json")
    assert (latest["mpi"], latest["hosts"], latest["decisions"]) == ("Open MPI 4.1.4", "node#", 3)
    assert latest["measured"]["latency"] == pytest.approx(5e-5)
    assert latest["measured"]["connections_from"] == 32768
    assert (empty["measured"], empty["decisions"], empty["error"]) == (None, 0, None)
    assert damaged["error"].endswith("expected string literal")
    assert damaged.keys() == latest.keys()
    assert damaged["mpi"] is None


@pytest.mark.parametrize(
    "words", [[], ["latest"], ["openmpi-1"], ["openmpi-1.json"], ["{folder}/openmpi-1.json"]]
)
def test_one_file(words: list[str], folder: Path) -> None:
    shown = fabric("show", *(word.format(folder=folder) for word in words))
    assert shown.exit_code == 0, shown.output
    head, network, setting, speed, *_ = shown.stdout.splitlines()
    assert head == str(folder / "openmpi-1.json")
    assert network == "Open MPI 4.1.4, hosts node#, Some CPU"
    assert setting == "settings of the network: BTL=tcp"
    assert speed == "measured 2026-11-24 between 2 nodes: latency 50 µs, bandwidth 23.9 MB/s"
    assert "connections of Stretto's own carry messages of 32 KiB and more" in shown.stdout
    rows = [line.split() for line in shown.stdout.splitlines() if line.startswith((" allreduce", " bcast"))]
    assert rows == [
        ["allreduce", "3", "1", "1", "MiB", "to", "2", "MiB", "ring", "1.62", "59.7", "ms", "2026-11-24"],
        ["allreduce", "3", "1", "4", "MiB", "to", "8", "MiB", "in", "place", "native", "busy"],
        ["bcast", "3", "2", "to", "3", "1", "MiB", "to", "2", "MiB", "chain:segments=8"],
    ]


def test_one_file_for_programs(folder: Path) -> None:
    document = json.loads(fabric("show", "--json").stdout)
    assert document["file"] == str(folder / "openmpi-1.json")
    first, second, third = document["decisions"]
    assert (first["bytes_from"], first["bytes_below"], first["gain"]) == (1 << 20, 2 << 20, 1.62)
    assert (first["in_place"], first["busy"]) == (False, False)
    assert (second["in_place"], second["busy"], second["gain"], second["seconds"]) == (True, True, None, None)
    assert (third["ppn"], third["min_ppn"], third["when"], third["bytes"]) == (3, 2, None, None)


def test_a_file_without_decisions(folder: Path) -> None:
    shown = fabric("show", "mpich-2")
    assert shown.stdout.splitlines()[3:] == ["not measured yet", "no duel has been decided yet"]
    assert (folder / "mpich-2.json").exists()


@pytest.mark.parametrize("name", ["damaged", "nothing"])
def test_a_file_that_cannot_be_shown(name: str, folder: Path) -> None:
    shown = fabric("show", name)
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.count("\n") == 1
    assert name in shown.stderr
    assert folder.is_dir()


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("openmpi-1", ["openmpi-1"]),
        ("damaged.json", ["damaged"]),
        ("{folder}/mpich-2.json", ["mpich-2"]),
        ("latest", ["openmpi-1"]),
        ("all", ["damaged", "mpich-2", "openmpi-1"]),
    ],
)
def test_what_is_forgotten(name: str, gone: list[str], folder: Path) -> None:
    (folder / "openmpi-1.json.lock").touch()
    before = {file.stem for file in folder.glob("*.json")}
    ended = fabric("forget", name.format(folder=folder))
    assert ended.exit_code == 0, ended.output
    assert sorted(ended.stdout.splitlines()) == [f"deleted {folder}/{one}.json" for one in gone]
    assert {file.stem for file in folder.glob("*.json")} == before - set(gone)


def test_that_there_is_nothing_to_forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))
    monkeypatch.delenv("STRETTO_FABRIC", raising=False)
    for words in (["forget", "all"], ["list"]):
        ended = fabric(*words)
        assert ended.exit_code == 0
        assert ended.stdout.startswith(f"no job has kept findings in {tmp_path}/fabrics; the first job")
    monkeypatch.setenv("STRETTO_FABRIC", "none")
    assert fabric("list").stdout == "jobs neither keep nor use findings (STRETTO_FABRIC=none)\n"
    assert (
        fabric("show").stderr == "stretto: latest: jobs neither keep nor use findings (STRETTO_FABRIC=none)\n"
    )


def test_forgetting_wants_a_name(folder: Path) -> None:
    ended = fabric("forget")
    line = "stretto: fabric forget: name a file of stretto fabric list, or say latest or all\n"
    assert (ended.exit_code, ended.stderr) == (2, line)
    assert len(list(folder.iterdir())) == 3


def test_other_files_are_not_deleted(folder: Path, tmp_path: Path) -> None:
    other, own = tmp_path / "other.json", tmp_path / "own.json"
    other.write_text("{}")
    own.write_text(content())
    with pytest.raises(StrettoError, match="only fabric files are deleted"):
        known_fabrics.forget(str(other), os.environ)
    assert other.exists()
    assert known_fabrics.forget(str(own), os.environ) == [own]
    # The one that a variable names may be damaged.
    environment = os.environ | {"STRETTO_FABRIC": str(other)}
    assert known_fabrics.forget(str(other), environment) == [other]
    assert len(list(folder.iterdir())) == 3


def test_a_file_that_cannot_be_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StrettoError, match=r"openmpi-1\.json could not be deleted: Permission denied"):
        known_fabrics.forget("latest", os.environ)
    assert len(list(folder.iterdir())) == 3
