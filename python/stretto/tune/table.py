# SPDX-License-Identifier: Apache-2.0
"""Tables of `stretto tune` (docs/formats.md): made from its choices, and merged into an existing table."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stretto import _core
from stretto.spec.native import NATIVE, library_name
from stretto.support.errors import StrettoError
from stretto.support.units import size_text
from stretto.tune.evidence import CONFIDENCE, LEAST_GAIN
from stretto.tune.findings import Choice

# Messages up to this size take as long as the shortest one.
_SMALL_BYTES = 64

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """A number of nodes, and the numbers of ranks on them."""

    nodes: int
    ppn: int
    """Ranks on the fullest node."""
    min_ppn: int
    """Ranks on the emptiest node."""

    @classmethod
    def of(cls, ppn: Sequence[int]) -> Shape:
        """Returns the shape of nodes with these numbers of ranks."""
        return cls(len(ppn), max(ppn), min(ppn))

    def to_json(self) -> Json:
        """Returns the shape in the form of tables."""
        shape: Json = {"nodes": self.nodes, "ppn": self.ppn}
        return shape if self.min_ppn == self.ppn else shape | {"min_ppn": self.min_ppn}

    def matches(self, other: Json) -> bool:
        """Whether an object of a table has this shape."""
        same = (other.get("nodes"), other.get("ppn")) == (self.nodes, self.ppn)
        return same and other.get("min_ppn", other.get("ppn")) == self.min_ppn


def within(rows: list[Json], least: int, most: int) -> list[Json]:
    """Returns the rows, limited to the measured sizes. Beyond these the built-in rule decides.

    If the smallest size is short, the first row holds from 0 bytes on.
    """
    first = 0 if least <= _SMALL_BYTES else size_text(least)
    rows[0] = rows[0] | {"from": first}
    rows[-1] = {"from": rows[-1]["from"], "to": size_text(most)} | rows[-1]
    return rows


def stretches(choices: Sequence[Choice], wanted: Sequence[int]) -> list[list[Choice]]:
    """Returns the choices, in ascending order, cut wherever sizes between two of them were left out.

    `wanted`: the sizes that were to be measured. An earlier tuning may have had other sizes. So there is
    also a gap between two choices that are further apart than any two neighbouring wanted sizes.
    """
    wanted = sorted(wanted)
    widest = max((high / low for low, high in itertools.pairwise(wanted)), default=math.inf)
    left_out = set(wanted) - {choice.size for choice in choices}
    result: list[list[Choice]] = []
    for choice in choices:
        before = result[-1][-1].size if result else 0
        has_gap = any(before < size < choice.size for size in left_out)
        if not result or has_gap or choice.size > widest * before:
            result.append([])
        result[-1].append(choice)
    return result


def rows_of(choices: Sequence[Choice], wanted: Sequence[int] = ()) -> list[Json]:
    """Returns a call's rows. A choice holds up to the next size, but not across sizes left out."""
    return [row for stretch in stretches(choices, wanted) for row in _rows_of_stretch(stretch)]


def _rows_of_stretch(choices: Sequence[Choice]) -> list[Json]:
    runs = [list(run) for _, run in itertools.groupby(choices, key=lambda choice: choice.spec)]
    rows: list[Json] = []
    before: Choice | None = None
    for run in runs:
        rows.append({"from": size_text(_begin(run[0], before)), **_said(run[0].spec), **_gain(run)})
        before = run[-1]
    return within(rows, choices[0].size, choices[-1].size)


def _begin(first: Choice, before: Choice | None) -> int:
    # The sizes between the two were not measured. `native` gets most of them, since it is never wrong.
    if before is not None and first.spec == NATIVE:
        return before.size + max(1, (first.size - before.size) // 4)
    return first.size


def _said(spec: str) -> Json:
    name = library_name(spec)
    return {"spec": spec} if name is None else {"spec": NATIVE, "library": name}


def _gain(run: Sequence[Choice]) -> Json:
    if run[0].spec == NATIVE:
        return {}
    return {"gain": float(f"{statistics.geometric_mean([one.gain.median for one in run]):.3g}")}


def library_rows(choices: Sequence[Choice], wanted: Sequence[int] = (), *, by_launch: bool) -> list[Json]:
    """Returns the library's best algorithm at each size; None where the MPI default is as good.

    `by_launch`: an algorithm is set for all sizes when the job starts, so each size has an algorithm.
    """
    cut = stretches(choices, wanted)
    return [row for stretch in cut for row in _library_rows_of_stretch(stretch, by_launch)]


def _library_rows_of_stretch(choices: Sequence[Choice], by_launch: bool) -> list[Json]:
    named = [(choice, _best_of_library(choice, by_launch)) for choice in choices]
    rows: list[Json] = []
    for name, run in itertools.groupby(named, key=lambda one: one[1]):
        group = [choice for choice, _ in run]
        gains = [one.library_gain.median for one in group if one.library_gain is not None]
        row: Json = {"from": group[0].size, "algorithm": name}
        if name is not None:
            row["gain"] = float(f"{min(gains):.3g}")
        rows.append(row)
    return within(rows, choices[0].size, choices[-1].size)


def _best_of_library(choice: Choice, by_launch: bool) -> str | None:
    if choice.library_gain is None or (not by_launch and choice.library_gain.low <= LEAST_GAIN):
        return None
    return choice.library


@dataclass(frozen=True, slots=True)
class Tuned:
    """The results of a tuning of one shape."""

    mpi: str
    """The name of the library: `Open MPI 4.1.4`."""
    network: str
    shape: Shape
    choices: dict[str, list[Choice]]
    """Choices by call, in ascending order of size."""
    remarks: list[str]
    about: Json
    """Notes on the tuning: date, version, type, load."""
    by_launch: bool = False
    sizes: Sequence[int] = ()
    """The sizes that were to be measured."""
    modelled: list[Json] = field(default_factory=list)
    """Predicted shapes of other node counts (modelled.py); measured shapes take precedence."""


def merged(tuned: Tuned, old: Json | None) -> Json:
    """Returns the old table of the same library, with this shape's rows of these calls replaced."""
    old = old or {}
    shapes = [shape for shape in old.get("shapes", []) if not tuned.shape.matches(shape)]
    same: Json = next((shape for shape in old.get("shapes", []) if tuned.shape.matches(shape)), {})
    kept = (
        {} if same.get("modelled") else {key: value for key, value in same.items() if isinstance(value, list)}
    )
    rows = {call: rows_of(choices, tuned.sizes) for call, choices in tuned.choices.items() if choices}
    shapes.append(tuned.shape.to_json() | kept | rows)
    for modelled in tuned.modelled:
        there = next((one for one in shapes if _same_shape(one, modelled)), None)
        if there is None:
            shapes.append(modelled)
        elif there.get("modelled"):
            there.update(modelled)
    shapes.sort(key=_key)
    table: Json = {"format": "stretto-table", "version": 1, "mpi": tuned.mpi}
    if tuned.network:
        table["network"] = tuned.network
    return table | {"shapes": shapes, "notes": _notes(tuned, old.get("notes", {}))}


def _same_shape(one: Json, other: Json) -> bool:
    return _key(one) == _key(other)


def _notes(tuned: Tuned, old: Json) -> Json:
    shape = tuned.shape.to_json()
    calls = [call for call, choices in tuned.choices.items() if choices]

    def others(key: str, entries: Iterable[Json]) -> list[Json]:
        return [one for one in entries if not (tuned.shape.matches(one) and one.get(key) in calls)]

    library = others("collective", old.get("library", []))
    tuning = others("call", old.get("tuning", []))
    for call in calls:
        choices = tuned.choices[call]
        own = library_rows(choices, tuned.sizes, by_launch=tuned.by_launch)
        library.append(shape | {"collective": call, "rows": own})
        measured = [_measured(choice) for choice in choices]
        remarks = [remark for remark in tuned.remarks if remark.startswith(f"{call}: ")]
        tuning.append(shape | {"call": call, **tuned.about, "remarks": remarks, "measured": measured})
    return old | {"library": library, "tuning": tuning}


def _measured(choice: Choice) -> Json:
    """Returns the figures of a choice, rounded to four digits."""
    figures = {
        "native_seconds": choice.native.median,
        "seconds": choice.seconds.median,
        "gain": choice.gain.median,
        "gain_low": choice.gain.low,
        "gain_high": choice.gain.high,
    }
    rounded = {key: float(f"{value:.4g}") for key, value in figures.items()}
    return {"bytes": choice.size, "spec": choice.spec} | rounded


def table_text(table: Json) -> str:
    """Returns the table as JSON for people to read and edit, one row per line."""
    return "\n".join(_lines(table, "")) + "\n"


def _lines(value: Any, indent: str) -> list[str]:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or _is_row(value):
        return [indent + flat]
    inner = [
        (f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else "", one)
        for key, one in (value.items() if isinstance(value, dict) else ((None, one) for one in value))
    ]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    lines = [indent + opening]
    for at, (key, one) in enumerate(inner):
        block = _lines(one, indent + "  ")
        block[0] = indent + "  " + key + block[0].lstrip()
        block[-1] += "," if at < len(inner) - 1 else ""
        lines += block
    return [*lines, indent + closing]


def _is_row(value: Any) -> bool:
    """Whether nothing in a list or object is itself a list or an object."""
    return not any(
        isinstance(one, dict | list) for one in (value.values() if isinstance(value, dict) else value)
    )


def read_old(path: Path, tuned_mpi: str, network: str) -> tuple[Json | None, str]:
    """Returns the existing table, or the reason why nothing can be added to it.

    Raises StrettoError if the file is not a table.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, ""
    except (OSError, UnicodeDecodeError) as error:
        raise StrettoError(f"{path} cannot be read: {error}") from None
    try:
        _core.read_table(text)
    except ValueError as error:
        raise StrettoError(f"{path} is not a valid table; move it away, or give --output: {error}") from None
    table: Json = json.loads(text)
    if table["mpi"] != tuned_mpi:
        return None, f"the existing table is for {table['mpi']}"
    if table.get("network", "") != network:
        return (
            None,
            f"the existing table is for another network, {table.get('network') or 'without a name'}",
        )
    _bound_by_notes(table)
    return table, ""


def _bound_by_notes(table: Json) -> None:
    """Limit the rows of older tables to the measured sizes, which only their notes have."""
    notes = table.get("notes", {})
    try:
        measured = {
            (_key(note), note["call"]): [one["bytes"] for one in note["measured"]]
            for note in notes.get("tuning", [])
        }
        lists = [(_key(shape), call, rows) for shape in table["shapes"] for call, rows in shape.items()]
        lists += [(_key(note), note["collective"], note["rows"]) for note in notes.get("library", [])]
    except (KeyError, TypeError, AttributeError):
        return  # edited by hand
    for key, call, rows in lists:
        sizes = measured.get((key, call))
        if sizes and isinstance(rows, list) and "to" not in rows[-1]:
            within(rows, min(sizes), max(sizes))


def _key(shape: Json) -> tuple[int, int, int]:
    return shape["nodes"], shape["ppn"], shape["min_ppn"] if "min_ppn" in shape else shape["ppn"]


def geometric_mean_gain(choices: Sequence[Choice], low: int, high: int) -> float | None:
    """Returns the geometric mean of the gains at sizes from `low` to `high`; None if there are none."""
    gains = [choice.gain.median for choice in choices if low <= choice.size <= high]
    return math.exp(statistics.fmean(map(math.log, gains))) if gains else None


def rule_text() -> str:
    """Returns the rule for choices other than `native`, as text for people."""
    return (
        f"the table chooses a spec other than native only if the lower end of the {100 * CONFIDENCE:.0f} % "
        f"interval of the paired ratio, in fresh samples, is above {LEAST_GAIN:g}"
    )
