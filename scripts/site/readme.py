# SPDX-License-Identifier: Apache-2.0
"""Reads the README's tables, for pages of the site that show them, too."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


class MissingTableError(LookupError):
    """There is not exactly one table with the title."""


def readme_table(title: str) -> str:
    """Return the table whose first column has this title."""
    lines = README.read_text(encoding="utf-8").splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith(f"| {title} |")]
    if len(heads) != 1:
        raise MissingTableError(f"README.md has {len(heads)} tables whose first column is {title!r}, not one")
    return "\n".join(takewhile(lambda line: line.startswith("|"), lines[heads[0] :]))
