# SPDX-License-Identifier: Apache-2.0
"""The files that a visitor of the repository looks for."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def load(name: str) -> dict[str, Any]:
    """A YAML file of the repository."""
    content = yaml.safe_load((ROOT / name).read_text())
    assert isinstance(content, dict)
    return content


def test_the_citation_has_the_version_and_the_papers() -> None:
    citation = load("CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert citation["cff-version"] == "1.2.0"
    for work in [citation, *citation["references"]]:
        assert {"type", "title", "authors"} <= work.keys()
        assert all(author.keys() <= {"name", "family-names", "given-names"} for author in work["authors"])
    assert len(citation["references"]) == 3


def test_commits_are_checked_by_all_linters() -> None:
    hooks = load(".pre-commit-config.yaml")["repos"][0]["hooks"]
    entries = " ".join(hook["entry"] for hook in hooks)
    steps = set(re.findall(r'^step "([\w-]+)"$', (ROOT / "scripts/lint").read_text(), re.MULTILINE))
    assert steps == {"clang-format", "clang-tidy", "cmake-lint", "shellcheck", "ruff", "mypy"}
    # clang-tidy takes minutes, so `make lint` as a whole runs before a push.
    assert steps - {"clang-tidy"} <= {Path(word).name for word in entries.split()}
    assert [hook["entry"] for hook in hooks if hook.get("stages") == ["pre-push"]] == ["make lint"]


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def steps_of(workflow: Path) -> list[dict[str, Any]]:
    """The steps of all jobs."""
    return [
        step for job in load(f".github/workflows/{workflow.name}")["jobs"].values() for step in job["steps"]
    ]


def test_the_workflows_run_targets_that_there_are() -> None:
    runs = [step["run"] for workflow in WORKFLOWS for step in steps_of(workflow) if "run" in step]
    targets = {run.split()[1] for run in runs if run.startswith("make ")}
    assert targets == {"lint", "test", "wheel", "test-all"}
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{target}:" in makefile for target in targets)
    matrix = load(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert {one["command"] for one in matrix["compiler"]} == {"g++", "clang++"}
    assert matrix["image"] == ["debian:12", "ubuntu:24.04"]


def test_presets_of_the_sanitizers() -> None:
    presets = load(".github/workflows/scheduled.yml")["jobs"]["sanitizers"]["strategy"]["matrix"]["preset"]
    known = {one["name"] for one in json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]}
    assert set(presets) == {"asan", "tsan"} <= known
    for words in ["--sanitizer", "msan"], ["--sanitizer"], ["--minutes"]:
        ran = subprocess.run([ROOT / "scripts/test-all", *words], capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ": expected " in ran.stderr


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: str(file.name))
def test_actions_are_pinned_by_hash(workflow: Path) -> None:
    """A tag may be moved; dependabot reads the version in the comment."""
    uses = re.findall(r"uses: (.*)", workflow.read_text())
    assert uses
    assert [
        one for one in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", one)
    ] == []
    updated = {one["package-ecosystem"] for one in load(".github/dependabot.yml")["updates"]}
    assert updated == {"github-actions", "pip"}


def test_commits_that_blame_looks_past() -> None:
    lines = (ROOT / ".git-blame-ignore-revs").read_text().splitlines()
    assert [line for line in lines if line and not re.fullmatch(r"#.*|[0-9a-f]{40}", line)] == []


def test_the_changelog_has_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    heads = re.findall(r"^## (\S+)", text, re.MULTILINE)  # a date may follow
    assert heads[:2] == ["Unreleased", version]
