# SPDX-License-Identifier: Apache-2.0
"""Reads the rules about the MPI library's own algorithms from tuning tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stretto.launch.settings.rules import Rule, RuleSet
from stretto.support.errors import StrettoError
from stretto.support.units import parse_bytes

Json = dict[str, Any]

_MOST_BYTES = 1 << 60


def table_in_force(family: str, environment: Mapping[str, str]) -> Path | None:
    """The path where a job of that MPI library looks for its tuning table; there may be no file."""
    named = environment.get("STRETTO_TABLE", "")
    if named == "none":
        return None
    if named:
        return Path(named)
    try:
        from stretto import _core  # noqa: PLC0415  `stretto run` works without it
    except ImportError:
        return None
    default = _core.default_table_path(family)
    return Path(default) if default else None


def read_table(path: Path) -> Json:
    """A tuning table as JSON. Raises StrettoError if the file holds none."""
    from stretto import _core  # noqa: PLC0415  as above

    try:
        text = path.read_text(encoding="utf-8")
        _core.read_table(text)
    except (OSError, UnicodeDecodeError) as error:
        raise StrettoError(f"{path} cannot be read: {error}") from None
    except ValueError as error:
        raise StrettoError(f"{path}: {error}") from None
    table: Json = json.loads(text)
    return table


def family_of(table: Json) -> tuple[str, str]:
    """The family and the name of the table's library: `openmpi` and `Open MPI 4.1.4`."""
    from stretto import _core  # noqa: PLC0415  as above

    known = _core.parse_library_name(table["mpi"])
    if known is None:  # cannot happen: _core.read_table refuses such a table
        raise StrettoError(f"{table['mpi']} is not an MPI library that Stretto knows")
    return known


def measured_rules(table: Json) -> list[RuleSet]:
    """The MPI library's best own algorithms that the tuning noted, even if it chose a spec of Stretto."""
    found = []
    for entry in table.get("notes", {}).get("library", []):
        try:
            rules = _rules([row | {"library": row["algorithm"]} for row in entry["rows"]])
            ranks = _ranks(entry["nodes"], entry["ppn"], entry.get("min_ppn"))
            found.append(RuleSet(entry["collective"], entry["nodes"], entry["ppn"], ranks, rules))
        except (KeyError, TypeError, AttributeError):
            raise StrettoError("the table's notes.library was edited so that it cannot be read") from None
    return found


def chosen_rules(table: Json) -> list[RuleSet]:
    """The MPI library's own algorithms in the table's rows: `native` with a name."""
    found = []
    for shape in table["shapes"]:
        ranks = _ranks(shape["nodes"], shape["ppn"], shape.get("min_ppn"))
        for call, rows in shape.items():
            if isinstance(rows, list):
                rules = _rules([{key: row[key] for key in row if key != "gain"} for row in rows])
                found.append(RuleSet(call, shape["nodes"], shape["ppn"], ranks, rules))
    return [one for one in found if one.says_something]


def _rules(rows: Sequence[Json]) -> tuple[Rule, ...]:
    """Rules from 0 bytes on, with the MPI default where no row applies."""
    rules: list[Rule] = []

    def leave_open(begin: int) -> None:
        if not rules or rules[-1].algorithm is not None:
            rules.append(Rule(begin, None, is_known=False))

    end = 0
    for row in rows:
        begin = _size(row["from"])
        if begin > end:
            leave_open(end)
        rules.append(Rule(begin, row.get("library"), row.get("gain")))
        end = _size(row["to"]) + 1 if "to" in row else _MOST_BYTES
    if end < _MOST_BYTES:
        leave_open(end)
    return tuple(rules)


def _size(value: int | str) -> int:
    return value if isinstance(value, int) else parse_bytes(value)


def _ranks(nodes: int, ppn: int, min_ppn: int | None) -> int:
    """The number of ranks; 0 if it is not known, since nodes have unequal numbers of ranks."""
    return nodes * ppn if min_ppn in (None, ppn) else 0
