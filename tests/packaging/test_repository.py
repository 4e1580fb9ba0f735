# SPDX-License-Identifier: Apache-2.0
"""The files that a visitor of the repository looks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

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


def test_the_workflow_runs_targets_that_there_are() -> None:
    jobs = load(".github/workflows/ci.yml")["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = {run.split()[1] for run in runs if run.startswith("make ")}
    assert targets == {"lint", "test"}
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{target}:" in makefile for target in targets)
    matrix = jobs["test"]["strategy"]["matrix"]
    assert {one["command"] for one in matrix["compiler"]} == {"g++", "clang++"}
    assert matrix["image"] == ["debian:12", "ubuntu:24.04"]
