# SPDX-License-Identifier: Apache-2.0
"""The tables in docs/ are what the commands above them print; scripts/docs-tables rewrites them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto import _core
from stretto.cli.main import app

DOCS = Path(__file__).parents[3] / "docs"
TABLE = re.compile(r"^<!-- table: stretto ([^\n]*) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
TABLES = [
    pytest.param(command, table, id=f"{page.stem}: {command}")
    for page in sorted(DOCS.glob("*.md"))
    for command, table in TABLE.findall(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("command", "table"), TABLES)
def test_tables_are_up_to_date(command: str, table: str) -> None:
    shown = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
    assert table == shown.stdout, "run scripts/docs-tables"


def test_every_algorithm_is_in_the_docs() -> None:
    page = (DOCS / "algorithms.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for algorithm in _core.algorithms():
        assert f"**`{algorithm.name}`**" in sections[algorithm.collective.capitalize()], str(algorithm.usual)
