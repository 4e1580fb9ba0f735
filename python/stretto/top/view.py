# SPDX-License-Identifier: Apache-2.0
"""Shows what the ranks of this node do: once, or again and again."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.live import Live
from rich.text import Text

from stretto.support.console import print_lines, standard_output
from stretto.support.json_files import document_text
from stretto.support.tables import Column, ResultTable
from stretto.support.units import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_percent,
    format_place,
    three_digits,
)
from stretto.top.activity import Job, RankActivity, busiest, jobs_between
from stretto.top.reader import Reader
from stretto.top.screen import QUIT, Screen, keys

_UNKNOWN = "?"
_LONGEST_COMMAND = 80
_SHORT = 0.01
"""The seconds from which on the time since a call began is shown."""
_LONG = 1.0
"""The seconds in a call from which on the rank that is in none is not only late."""


def look_once(reader: Reader, seconds: float) -> list[Job]:
    """Returns what all jobs do in an interval of `seconds`. Raises StrettoError if there is no job."""
    before = reader.sample(seconds)
    if not before:
        raise reader.why_nothing()
    time.sleep(seconds)
    jobs = jobs_between(before, reader.sample(seconds))
    if not jobs:
        raise reader.why_nothing()
    return jobs


def watch(reader: Reader, seconds: float) -> None:
    """Show what the jobs do, again after each interval, until they have ended or the user interrupts."""
    before = reader.sample(seconds)
    if not before:
        raise reader.why_nothing()
    console = standard_output()
    screen = Screen()
    jobs: list[Job] = []
    with contextlib.suppress(KeyboardInterrupt), keys() as next_key:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while before:
                until = time.monotonic() + seconds
                while (left := until - time.monotonic()) > 0:
                    key = next_key(left)
                    if key == QUIT:
                        return
                    if key and jobs:
                        screen.press(key, jobs, console.size.height)
                        live.update(_picture(jobs, screen), refresh=True)
                after = reader.sample(seconds)
                jobs = jobs_between(before, after)
                live.update(_picture(jobs, screen), refresh=True)
                before = after
        print_lines(["no job is left"], "", console)


def _picture(jobs: Sequence[Job], screen: Screen) -> Text:
    console = standard_output()  # the size of the terminal may have changed
    width, height = console.size
    with console.capture() as captured:
        show_jobs(screen.chosen(jobs), console)
    lines = Text.from_ansi(captured.get().rstrip("\n")).wrap(console, width)
    shown = screen.visible(list(lines), jobs, height)
    shown[-1].truncate(width, overflow="ellipsis")
    return Text("\n").join(shown)


def show_jobs(jobs: Sequence[Job], console: Console | None = None) -> None:
    """Print a table for each job, and the rank for which the others wait."""
    console = console or standard_output()
    for job in jobs:
        print_lines([_heading(job)], "bold", console)
        _table(job).print(console)
        if remark := _remark(job):
            print_lines([remark], "yellow", console)


def _heading(job: Job) -> str:
    command = job.command
    if len(command) > _LONGEST_COMMAND:
        command = command[: _LONGEST_COMMAND - 1] + "…"
    here = "" if len(job.here) == job.ranks else f", {len(job.here)} of them here"
    whose = f", of {job.user}" if job.user else ""
    place = format_place(job.ranks, job.nodes)
    return f"{command}: {place}{here}{whose}, for {_clock(time.time() - job.began)}"


def _clock(seconds: float) -> str:
    """Returns a time as clocks show it: `0:12:04`."""
    whole = max(int(seconds), 0)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _table(job: Job) -> ResultTable[RankActivity]:
    awaited = job.awaited
    columns: list[Column[RankActivity]] = [
        Column("rank", lambda one: str(one.rank), is_key=True),
        Column("process", lambda one: str(one.pid), detail=3),
        Column("calls/s", lambda one: _number(one.rates.calls), detail=1),
        Column("MB/s", lambda one: format_bandwidth(one.rates.bytes), detail=2),
        Column("inside", lambda one: _part(one.rates.inside), is_key=True),
        Column("mostly in", busiest, left=True, is_key=True),
        Column("now in", _now_text, left=True, is_key=True),
        Column("for", _since_text),
    ]
    return ResultTable(
        columns, job.here, style=lambda one: "yellow" if awaited is not None and one is awaited else ""
    )


def _number(rate: float) -> str:
    return three_digits(rate) if rate > 0 else "0"


def _part(inside: float | None) -> str:
    return _UNKNOWN if inside is None else format_percent(inside)


def _now_text(one: RankActivity) -> str:
    if one.now is None:
        return ""
    size = f" of {format_bytes(one.now.bytes)}" if one.now.bytes else ""
    return f"{one.now.collective}{size}"


def _since_text(one: RankActivity) -> str:
    if one.now is None or one.now.seconds < _SHORT:
        return ""
    return f"{'> ' if one.now.is_longer else ''}{three_digits(one.now.seconds)} s"


def _remark(job: Job) -> str:
    awaited = job.awaited
    if awaited is None:
        return ""
    others = [one for one in job.here if one is not awaited]
    here = "" if len(job.here) == job.ranks else " of those on this node"
    waits = [one.now.seconds for one in others if one.now is not None and one.now.seconds >= _LONG]
    if awaited.now is None and len(waits) == len(others):
        call, since = _now_text(others[0]), three_digits(max(waits))
        return f"rank {awaited.rank}{here} has not come to a call; the others are in {call} for {since} s"
    shares = [one.rates.inside or 0.0 for one in others]
    least, most = format_percent(min(shares)), format_percent(max(shares))
    found = least if least == most else f"{least} to {most}"
    inside = _part(awaited.rates.inside)
    return f"rank {awaited.rank}{here} waits least ({inside}; the others {found}): they wait for it"


def jobs_json(jobs: Sequence[Job], seconds: float, command: Sequence[str]) -> str:
    """Returns the document for --json."""
    content = {"interval": seconds, "jobs": [_job_content(one) for one in jobs]}
    ranks = format_count(sum(len(one.here) for one in jobs), "rank")
    return document_text("stretto-top", command, f"{ranks} on {socket.gethostname()}", content)


def _job_content(job: Job) -> dict[str, object]:
    awaited = job.awaited
    return {
        "program": job.command,
        "ranks": job.ranks,
        "nodes": job.nodes,
        "library": job.library,
        "seconds": time.time() - job.began,
        "awaited": None if awaited is None else awaited.rank,
        "here": [_rank_content(one) for one in job.here],
    }


def _rank_content(one: RankActivity) -> dict[str, object]:
    now = one.now
    return {
        "rank": one.rank,
        "pid": one.pid,
        **_rates_content(one),
        "now": None
        if now is None
        else {
            "collective": now.collective,
            "bytes": now.bytes,
            "seconds": now.seconds,
            "began_before": now.is_longer,
        },
        "collectives": [
            {
                "collective": name,
                "calls": count.calls,
                "bytes": count.bytes,
                "inside": one.collectives[name].inside if name in one.collectives else 0.0,
            }
            for name, count in one.totals.items()
        ],
    }


def _rates_content(one: RankActivity) -> dict[str, object]:
    rates = asdict(one.rates)
    return {
        "calls_per_second": rates["calls"],
        "bytes_per_second": rates["bytes"],
        "inside": rates["inside"],
    }
