# SPDX-License-Identifier: Apache-2.0
"""Curves over message size, speedups and ranges, for the figures of all papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stretto.plots.panels import Panel
from stretto.support.units import format_range
from stretto_research.reproduce.figure import Bench
from stretto_research.simulate.jobs import Job
from stretto_research.simulate.platforms import Platform

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
RDB, RSA, RNG, BIN = "recursive_doubling", "rabenseifner", "ring", "reduce_broadcast"

Seconds = Mapping[int, float]
Lines = Mapping[str, Seconds]


def simulate_lines(
    bench: Bench,
    platform: Platform,
    nodes: int,
    specs: Mapping[str, str],
    sizes: Sequence[int],
    *,
    ppn: int = 1,
    collective: str = "allreduce",
    selector: str = "openmpi",
) -> dict[str, dict[int, float]]:
    """Simulate specs, given by label; return seconds by label and size."""
    jobs = [
        Job(platform, nodes, spec, tuple(sizes), ppn, collective, selector, data=False)
        for spec in specs.values()
    ]
    return dict(zip(specs, bench.seconds(jobs), strict=True))


def throughput(seconds: Seconds) -> dict[float, float]:
    """Return megabytes per second by message size."""
    return {size: size / time / 1e6 for size, time in seconds.items()}


def size_panel(title: str, lines: Lines) -> Panel:
    """Return a panel of throughput over message size."""
    return Panel(title, {label: throughput(seconds) for label, seconds in lines.items()})


def speedups(lines: Lines, slow: str, fast: str, first: int, last: int = GIB) -> list[float]:
    """Return how many times faster `fast` is than `slow`, at each size from `first` to `last`."""
    return [seconds / lines[fast][size] for size, seconds in lines[slow].items() if first <= size <= last]


def range_text(values: Sequence[float], unit: str = "x") -> str:
    """Return the range of the values as text: `1.05-1.31 x`."""
    return f"{format_range(min(values), max(values))} {unit}".strip()


def large_size(sizes: Sequence[int], least: int = 64 * MIB) -> int:
    """Return the size from which messages count as large; the largest size always does."""
    return min(least, max(sizes))
