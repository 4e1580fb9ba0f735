# SPDX-License-Identifier: Apache-2.0
"""Shows the built-in rule, for `stretto explain --rule`, and the row that decides a call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stretto import _core
from stretto.support.console import print_lines
from stretto.support.json_files import document_text
from stretto.support.units import size_text

FORMAT = "stretto-rule"


def row_text(row: str | None) -> str:
    """A row of the rule with numbers in place of figures, or a note that none holds."""
    if row is None:
        return "no row holds"
    figures = {name: str(size_text(size)) for name, size in _core.rule_figures().items()}
    section, _, rest = row.partition(": ")
    calls, _, rest = rest.partition(" ")  # calls have names that figures have, too
    return f"{section}: {calls} " + re.sub(r"[a-z]\w*", lambda word: figures.get(word[0], word[0]), rest)


def print_rule() -> None:
    """Print the rule as it is written."""
    print_lines(_core.rule_text().strip().splitlines(), style="")


def rule_json(command: Sequence[str]) -> str:
    """The rule as JSON."""
    figures = [{"name": name, "bytes": size} for name, size in _core.rule_figures().items()]
    return document_text(FORMAT, command, None, {"figures": figures, "rows": list(_rows())})


def _rows() -> Iterator[dict[str, str]]:
    section = conditions = ""
    for line in _core.rule_text().splitlines():
        if line.startswith("["):
            section, _, conditions = line.strip("[]").partition(": ")
        elif "->" in line and not line.startswith("#"):
            left, _, spec = line.partition("-> ")
            calls, _, own = left.strip().partition(" ")
            all_conditions = f"{conditions} {own}".strip()
            yield {"section": section, "calls": calls, "conditions": all_conditions, "spec": spec}
