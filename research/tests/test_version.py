# SPDX-License-Identifier: Apache-2.0
"""This distribution is for one version of Stretto, which has the same number."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_it_has_the_version_of_stretto() -> None:
    own, stretto = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in ("research", ".")
    )
    assert own["version"] == stretto["version"]
    assert own["dependencies"] == [f"stretto[tools]=={stretto['version']}"]
    assert own["requires-python"] == stretto["requires-python"]
