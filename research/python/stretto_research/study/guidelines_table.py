# SPDX-License-Identifier: Apache-2.0
"""Tables of `stretto study --guidelines`: guidelines by size, for the MPI default and for Stretto."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.text import Text

from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bytes, three_digits
from stretto_research.study.guidelines import TOLERANCE, Check, Guideline, sizes_of, violations
from stretto_research.study.guidelines_file import Guidelines, LibraryChecks

_NAMES = {NATIVE: "the library", STRETTO: "Stretto"}


def tables(library: LibraryChecks) -> Iterator[ResultTable[Guideline]]:
    """Yields a table for the MPI default, and a table for Stretto."""
    for spec, name in _NAMES.items():
        checks = [one for one in library.checks if one.spec == spec]
        if checks:
            yield _table(f"{library.title}: {name}", checks)


def _table(title: str, checks: Sequence[Check]) -> ResultTable[Guideline]:
    found = {(one.guideline, one.bytes): one for one in checks}

    def at(size: int) -> Callable[[Guideline], str | Text]:
        return lambda guideline: _cell(found.get((guideline, size)))

    return ResultTable(
        [
            Column("guideline", lambda one: one.text, left=True, is_key=True),
            *(Column(format_bytes(size), at(size)) for size in sizes_of(checks)),
        ],
        list(dict.fromkeys(one.guideline for one in checks)),
        title=title,
        section=lambda one: one.collective,
    )


def _cell(check: Check | None) -> str | Text:
    if check is None:
        return ""
    ratio = three_digits(check.ratio.median)
    return Text(f"{ratio} !", "bold red") if check.violated else f"{ratio}  "


def notes(found: Guidelines) -> Iterator[str]:
    """Yields the notes below the tables, with each of Stretto's violations."""
    yield (
        "ratio of the left side's time to the right side's, measured in turns in one run: at most 1 is good; "
        f"!: violated, as the whole 95 % interval is above {TOLERANCE}"
    )
    yield "copies between the calls of a right side are not counted"
    for library in found.libraries:
        counts = {spec: len(violations(library.checks, spec)) for spec in _NAMES}
        each = len(library.checks) // len(_NAMES)
        yield f"{library.title}: violations of {each}: " + ", ".join(
            f"{_NAMES[spec]} {count}" for spec, count in counts.items()
        )
        for one in violations(library.checks, STRETTO):
            yield f"  Stretto, {format_bytes(one.bytes)}: {one.text}"
