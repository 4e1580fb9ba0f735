# SPDX-License-Identifier: Apache-2.0
"""Compares a run with an earlier one, so that continuous integration notices what became slower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.results.runs import FORMAT, Run, Series
from stretto.support.console import print_lines
from stretto.support.errors import StrettoError
from stretto.support.estimates import Estimate, estimate_median
from stretto.support.extras import require
from stretto.support.json_files import read_json
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bytes, format_place, three_digits


class SlowerError(StrettoError):
    """A call became slower than in an earlier run, though the command itself succeeded."""

    status = 1


@dataclass(frozen=True, slots=True)
class Change:
    """The times of one case in both runs."""

    series: Series
    before: Estimate
    """Seconds in the earlier run."""
    now: Estimate
    """Seconds in this run."""

    @property
    def ratio(self) -> float:
        """How many times as long a call takes as before."""
        return self.now.median / self.before.median

    def is_slower(self, tolerance: float) -> bool:
        """Whether calls are slower by more than this part of their time, and the intervals do not overlap."""
        return self.ratio > 1 + tolerance and self.now.low > self.before.high


def read_earlier(file: Path, collective: str) -> Run:
    """The run in a file of `stretto bench --output`.

    Raises StrettoError if it is not such a file, or has another collective.
    """
    require(f"--compare {file}", "pydantic")
    from stretto.results.file import RunFile  # noqa: PLC0415  needs Pydantic
    from stretto.support.parts import validate  # noqa: PLC0415  needs Pydantic

    content = read_json(file)
    if content.get("format") != FORMAT:
        raise StrettoError(f"--compare {file}: expected a file of stretto bench --output")
    run = validate(RunFile, content, file).run()
    if run.collective.name != collective:
        raise StrettoError(f"--compare {file}: it has times of {run.collective.name}, not of {collective}")
    return run


def find_changes(before: Run, now: Run) -> list[Change]:
    """The cases that both runs have.

    Raises StrettoError if the jobs differ, or have no case in common.
    """
    for what, one, other in (
        ("the job", format_place(before.ranks, before.nodes), format_place(now.ranks, now.nodes)),
        ("the MPI library", before.library, now.library),
        ("the type", before.type, now.type),
    ):
        if one != other:
            raise StrettoError(f"--compare: {what} differs: {one} before, {other} now")
    earlier = {_case(series): series for series in before.series}
    changes = [
        Change(series, estimate_median(earlier[case].seconds), estimate_median(series.seconds))
        for series in now.series
        if (case := _case(series)) in earlier
    ]
    if not changes:
        raise StrettoError("--compare: the runs have no size and spec in common")
    return changes


def _case(series: Series) -> tuple[int, bool, str]:
    return series.bytes, series.in_place, series.label


def print_changes(changes: Sequence[Change], tolerance: float) -> None:
    """Print a line for each case."""
    ResultTable(
        [
            Column("size", lambda one: format_bytes(one.series.bytes), is_key=True),
            Column("in place", lambda one: "yes" if one.series.in_place else "no", left=True),
            Column("spec", lambda one: one.series.label, left=True, is_key=True),
            Column("before (95 %)", lambda one: one.before.seconds_text()),
            Column("now (95 %)", lambda one: one.now.seconds_text()),
            Column("now / before", lambda one: f"{one.ratio:.2f}"),
            Column("", lambda one: "slower" if one.is_slower(tolerance) else "", left=True, is_key=True),
        ],
        changes,
        section=lambda one: (one.series.bytes, one.series.in_place),
        style=lambda one: "bold red" if one.is_slower(tolerance) else "",
    ).print()
    print_lines([f"slower: by more than {100 * tolerance:g} %, and the intervals do not overlap"])


def complain_of_slower(changes: Sequence[Change], tolerance: float) -> None:
    """Raise SlowerError if a case became slower."""
    slower = [one for one in changes if one.is_slower(tolerance)]
    if slower:
        cases = ", ".join(
            f"{one.series.label} at {format_bytes(one.series.bytes)} ({three_digits(one.ratio)} times)"
            for one in slower
        )
        raise SlowerError(f"slower than before: {cases}")
