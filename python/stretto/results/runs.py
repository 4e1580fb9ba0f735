# SPDX-License-Identifier: Apache-2.0
"""The results of a benchmark run: the measuring program's events, figures from them, JSON and CSV."""

from __future__ import annotations

import csv
import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from stretto.spec.collectives import COLLECTIVES, Collective, LinkBound
from stretto.support.errors import StrettoError
from stretto.support.estimates import Estimate, estimate_median, hidden, speedup


class RefusedError(StrettoError):
    """The measuring program refused to measure. A job that serves requests goes on."""


class EndedError(StrettoError):
    """The measuring program ended before its last result."""


FORMAT = "stretto-bench"
"""The format of the file that keeps a run."""
BLOCKING = "blocking"
NON_BLOCKING = "non-blocking"
_PERCENT = 100
FORMS = (BLOCKING, NON_BLOCKING, "persistent")


@dataclass(frozen=True, slots=True)
class Series:
    """The samples of one spec and form at one message size. Samples of the same case pair up by index."""

    bytes: int
    in_place: bool
    spec: str
    chosen: str
    inner: int
    seconds: list[float]
    correct: bool
    with_barrier: bool = False
    """Whether times include a barrier after each call."""
    form: str = BLOCKING
    """The form of the call: blocking, non-blocking or persistent."""
    computation: list[float] = field(default_factory=list)
    """Seconds of a computation alone, if overlap was measured."""
    overlapped: list[float] = field(default_factory=list)
    """Seconds of the call with that computation between its start and its end."""
    wrong: int = 0
    """Samples whose result was wrong on some rank."""
    mockup: str = ""
    """The calls that replaced the collective, such as `reduce+bcast`; empty for the collective itself."""

    @property
    def label(self) -> str:
        """The name for people: spec, form and mock-up."""
        spec = f"{self.spec} {self.mockup}" if self.mockup else self.spec
        return spec if self.form == BLOCKING else f"{spec} ({self.form})"


@dataclass(slots=True)
class Run:
    """One run of the measuring program."""

    collective: Collective = COLLECTIVES["allreduce"]
    root: int = 0
    library: str = ""
    stretto: str = ""
    ranks: int = 0
    nodes: int = 0
    ppn: list[int] = field(default_factory=list)
    type: str = ""
    series: list[Series] = field(default_factory=list)
    progress_thread: bool = False
    """Whether STRETTO_PROGRESS_THREAD=1 was set where rank 0 ran."""
    test_every: float = 0.0
    """Seconds of computation between two calls of MPI_Test; 0 if there are none."""
    skipped: list[int] = field(default_factory=list)
    """Message sizes that were left out, because the time was spent."""
    virtual: bool = False
    """Whether it was simulated: each call was made once, in virtual time."""
    skew: float | None = None
    """The part of the message that the block of rank 0 held; None for equal blocks."""

    @property
    def overlaps(self) -> bool:
        """Whether it measured overlap with computation."""
        return any(series.overlapped for series in self.series)

    @property
    def has_no_bound(self) -> bool:
        """Whether the links' least load is unknown: blocks are unequal, or there is no message."""
        return self.skew is not None or not self.collective.has_message

    @property
    def forms(self) -> list[str]:
        """The forms of the calls, in the order of measuring."""
        return list(dict.fromkeys(series.form for series in self.series))

    def native(self, like: Series) -> Series | None:
        """The MPI default's series of the same case, in the first form that was measured."""
        wanted = (like.bytes, like.in_place, like.mockup, "native")
        for other in self.series:
            if (other.bytes, other.in_place, other.mockup, other.spec) == wanted:
                return other
        return None


@dataclass(frozen=True, slots=True)
class Overlap:
    """A call with a computation between its start and its end."""

    computation: Estimate
    """Seconds of the computation alone."""
    overlapped: Estimate
    """Seconds of both together."""
    hidden: Estimate
    """The part of the shorter one that the other hid."""


@dataclass(frozen=True, slots=True)
class Extremes:
    """Seconds of the fastest and the slowest samples."""

    min: float
    max: float
    p99: float | None
    """Only one in a hundred samples is slower; None if there are fewer than a hundred."""

    @classmethod
    def of(cls, samples: Sequence[float]) -> Extremes:
        """The extremes of some samples."""
        ascending = sorted(samples)
        count = len(ascending)
        p99 = ascending[-(-99 * count // 100) - 1] if count >= _PERCENT else None
        return cls(ascending[0], ascending[-1], p99)


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one series."""

    series: Series
    seconds: Estimate
    extremes: Extremes
    bandwidth: Estimate
    """Algorithm bandwidth: message bytes per second."""
    bus_bandwidth: float | None
    """The least bytes per second that each rank sends, as in nccl-tests; None if they are not known."""
    native: Series | None
    """The MPI default's series that it is compared to."""
    speedup: Estimate | None
    """The speedup over the MPI default, paired by repetition; None if that was not measured."""
    bound_share: float | None
    """The median bandwidth as a part of the link bound."""
    overlap: Overlap | None = None


def read_events(
    lines: Iterable[str], progress: Callable[[float, float], None], into: Run | None = None
) -> Run:
    """The run that the measuring program reports. Raises RefusedError or EndedError.

    `into` is filled as results come in, and holds them however the reading ends.
    """
    run = Run() if into is None else into
    for line in lines:
        event = parse_event(line)
        match event.pop("event", None):
            case "start":
                run.collective, run.root = COLLECTIVES[event["collective"]], event["root"]
                run.library, run.stretto, run.type = event["library"], event["stretto"], event["type"]
                run.ranks, run.nodes, run.ppn = event["ranks"], event["nodes"], event["ppn"]
                run.progress_thread = event.get("progress_thread", False)
                run.test_every = event.get("test_every", 0.0)
                run.skew = event.get("skew")
            case "progress":
                progress(event["done"], event["total"])
            case "result":
                run.series.append(Series(**event))
            case "skipped":
                run.skipped.append(event["bytes"])
            case "error":
                raise RefusedError(f"the measuring program failed: {event['message']}")
            case "end":
                return run
    raise EndedError("the measuring program ended before its last result; see what the launcher said above")


def parse_event(line: str) -> dict[str, Any]:
    """The event in a line; empty if it is a line of the launcher or the MPI library."""
    if not line.startswith('{"event":'):
        return {}
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return event if isinstance(event, dict) else {}


def summarize(run: Run, bound: LinkBound | None) -> list[Row]:
    """The figures of every series, in the order of measuring."""
    rows = []
    for series in run.series:
        seconds = estimate_median(series.seconds)
        size = series.bytes
        native = run.native(series)
        limit = bound.bandwidth(size) if bound else None
        rows.append(
            Row(
                series,
                seconds,
                Extremes.of(series.seconds),
                seconds.map_decreasing(lambda value, size=size: size / value),  # type: ignore[misc]
                _bus_bandwidth(run, size / seconds.median),
                native,
                speedup(native.seconds, series.seconds) if native else None,
                size / seconds.median / limit if limit else None,
                _overlap(series) if series.overlapped else None,
            )
        )
    return rows


def _bus_bandwidth(run: Run, bandwidth: float) -> float | None:
    if run.skew is not None or not run.collective.has_message:
        return None
    return bandwidth * run.collective.bus_factor(run.ranks)


def _overlap(series: Series) -> Overlap:
    return Overlap(
        estimate_median(series.computation),
        estimate_median(series.overlapped),
        hidden(series.seconds, series.computation, series.overlapped),
    )


def describe_machine() -> dict[str, Any]:
    """The facts about this machine that results depend on."""
    model = platform.processor() or platform.machine()
    memory = 0
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        pass  # not Linux: the rest is still useful
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory,
        "kernel": platform.release(),
        "host": platform.node(),
    }


def _estimate_json(estimate: Estimate | None) -> dict[str, float] | None:
    return None if estimate is None else estimate.to_json()


def _overlap_json(row: Row) -> dict[str, Any] | None:
    if row.overlap is None:
        return None
    return {
        "computation_time": _estimate_json(row.overlap.computation),
        "overlapped_time": _estimate_json(row.overlap.overlapped),
        "hidden": _estimate_json(row.overlap.hidden),
        "computation_seconds": row.series.computation,
        "overlapped_seconds": row.series.overlapped,
    }


def to_json(run: Run, rows: list[Row], bound: LinkBound | None, command: list[str]) -> dict[str, Any]:
    """The whole run as JSON, samples included."""
    return {
        "collective": run.collective.name,
        "root": run.root if run.collective.has_root else None,
        "message": run.collective.message,
        "skew": run.skew,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "stretto": run.stretto,
        "mpi": run.library,
        "machine": describe_machine(),
        "command": command,
        "ranks": run.ranks,
        "nodes": run.nodes,
        "ppn": run.ppn,
        "type": run.type,
        "progress_thread": run.progress_thread,
        "test_every": run.test_every or None,
        "link_bytes_per_second": bound.rate if bound else None,
        "link_bound_from_bytes": bound.least_bytes if bound else None,
        "link_rate_has_headers": bound.with_headers if bound else True,
        "virtual": run.virtual,
        "skipped_bytes": run.skipped,
        "results": [
            {
                "bytes": row.series.bytes,
                "in_place": row.series.in_place,
                "spec": row.series.spec,
                "form": row.series.form,
                "chosen": row.series.chosen,
                "correct": row.series.correct,
                "wrong": row.series.wrong,
                "inner": row.series.inner,
                "with_barrier": row.series.with_barrier,
                "time": _estimate_json(row.seconds),
                "bandwidth": _estimate_json(row.bandwidth),
                "bus_bandwidth": row.bus_bandwidth,
                "extremes": asdict(row.extremes),
                "speedup": _estimate_json(row.speedup),
                "bound_bandwidth": bound.bandwidth(row.series.bytes) if bound else None,
                "bound_share": row.bound_share,
                "seconds": row.series.seconds,
                "overlap": _overlap_json(row),
            }
            for row in rows
        ],
    }


_CSV_COLUMNS = (
    "collective", "bytes", "in_place", "spec", "form", "chosen", "correct", "wrong", "repetitions", "inner",
    "seconds", "seconds_low", "seconds_high", "seconds_min", "seconds_max", "seconds_p99",
    "bandwidth_mb_s", "bus_bandwidth_mb_s",
    "speedup", "speedup_low", "speedup_high", "bound_share",
    "computation_seconds", "overlapped_seconds", "hidden", "hidden_low", "hidden_high",
)  # fmt: skip


def _cells(estimate: Estimate | None) -> list[str]:
    if estimate is None:
        return [""] * 3
    return [f"{value:.6g}" for value in (estimate.median, estimate.low, estimate.high)]


def write_csv(run: Run, rows: list[Row], file: TextIO) -> None:
    """Write a line for each size, place, spec and form. Unknown values are empty cells."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for row in rows:
        overlap = row.overlap
        series = row.series
        writer.writerow(
            [
                run.collective.name,
                series.bytes, "yes" if series.in_place else "no", series.spec, series.form,
                series.chosen,
                "yes" if series.correct else "no", series.wrong, len(series.seconds), series.inner,
                f"{row.seconds.median:.9g}", f"{row.seconds.low:.9g}", f"{row.seconds.high:.9g}",
                f"{row.extremes.min:.9g}", f"{row.extremes.max:.9g}",
                "" if row.extremes.p99 is None else f"{row.extremes.p99:.9g}",
                f"{row.bandwidth.median / 1e6:.6g}",
                "" if row.bus_bandwidth is None else f"{row.bus_bandwidth / 1e6:.6g}",
                *_cells(row.speedup),
                "" if row.bound_share is None else f"{row.bound_share:.4f}",
                f"{overlap.computation.median:.9g}" if overlap else "",
                f"{overlap.overlapped.median:.9g}" if overlap else "",
                *_cells(overlap.hidden if overlap else None),
            ]
        )  # fmt: skip
