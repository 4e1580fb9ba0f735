# SPDX-License-Identifier: Apache-2.0
"""The parts of the document of `stretto trace --json` that other rooms read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from stretto.support.parts import Number, Part, validate
from stretto.trace.files import TraceFolder, read_folder
from stretto.trace.summary import summarize, summary_json

FORMAT: Literal["stretto-trace"] = "stretto-trace"
_TOP = 20

Count = Annotated[int, Field(ge=0)]
Time = Annotated[Number, Field(ge=0)]
"""A time in microseconds."""


class RankTime(Part):
    """The time of a rank inside collectives."""

    rank: Count
    inside_us: Time
    waiting_us: Time
    """The part of `inside_us` spent waiting for late ranks."""


class TraceTotals(Part):
    """Totals over all collectives."""

    collectives: Count
    incomplete: Count
    overlapping: Count
    within_clock_errors: Count
    contradictions: Count
    waiting_share: Time
    by_rank: list[RankTime]


class SlowCollective(Part):
    """One of the slowest collectives."""

    collective: str
    sequence: int
    communicator: str
    bytes: Count
    spec: str
    form: str
    ranks: Count
    traced_ranks: Count
    total_us: Time
    work_us: Time
    wait_us: Time
    last_rank: Count | None
    """None if the last rank is not known."""
    lateness_us: Time | None


class LateRank(Part):
    """A rank for which others waited."""

    rank: Count | None
    """None for all collectives whose last rank is not known."""
    collectives: Count
    times: Count
    waited_us: Time
    waited_alone_us: Time


class TraceSummary(Part):
    """The whole document."""

    format: Literal["stretto-trace"]
    version: Literal[1]
    ranks: Annotated[int, Field(gt=0)]
    missing: list[int]
    complaints: list[str]
    clock_error_us: Time
    totals: TraceTotals
    slowest: list[SlowCollective]
    late: list[LateRank]


def is_trace_folder(folder: Path) -> bool:
    """Whether ranks left their traces in the folder."""
    return any(folder.glob("rank-*.json"))


def summary_of_folder(folder: Path) -> TraceSummary:
    """Returns the summary of the traces in a folder. The folder is not changed."""
    return summary_of_traces(read_folder(folder))


def summary_of_traces(found: TraceFolder) -> TraceSummary:
    """Returns the summary of traces that were read."""
    text = summary_json(summarize(found, _TOP), found.path / "trace.json", 0)
    return validate(TraceSummary, json.loads(text), found.path)
