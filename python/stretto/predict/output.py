# SPDX-License-Identifier: Apache-2.0
"""What `stretto predict` prints and draws: predicted times, or how good the model is."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.table import Table

from stretto.plots.runs import plot_predictions
from stretto.predict.file import median_error, worst
from stretto.predict.judgement import Judgement
from stretto.predict.specs import Predicted, RuleRegret
from stretto.spec.topologies import parse_topology
from stretto.support.console import console_for, print_lines
from stretto.support.units import format_bandwidth, format_bytes, format_seconds, three_digits


def print_predictions(
    title: str, predictions: Sequence[Predicted], bounds: Mapping[int, float | None], notes: Iterable[str]
) -> None:
    """Print the predictions of each size; `bounds`: the least seconds that the links need, by size."""
    table = Table(title=title, title_justify="left")
    on_device = any(one.device for one in predictions)
    device_columns = ("on device", "as a whole", "by max") if on_device else ()
    for column in ("size", "spec", "time", "MB/s", "of bound", *device_columns, "of which"):
        table.add_column(column, justify="left" if column in ("spec", "of which") else "right")
    for size, bound in bounds.items():
        rows = [one for one in predictions if one.bytes == size]
        best = min(one.seconds for one in rows)
        for one in rows:
            cells = [
                format_bytes(size),
                one.spec,
                format_seconds(one.seconds),
                format_bandwidth(size / one.seconds),
                f"{100 * bound / one.seconds:.0f} %" if bound else "",
                *(_device_cells(one) if on_device else []),
                _main_parts(one),
            ]
            table.add_row(*cells, style="bold" if one.seconds == best else "", end_section=one is rows[-1])
    console = console_for(table)
    console.print(table)
    extrapolated = any(one.extrapolated for one in predictions)
    lines = [
        "MB/s: 10⁶ bytes of message by time; bold: the best of a size; native: the best textbook algorithm",
        "of which: what the critical path consists of"
        + ("; some times are extrapolated from fewer nodes or segments" if extrapolated else ""),
    ]
    if on_device:
        lines.append(
            "on device: the buffers are in device memory, and are copied segment by segment; as a whole: "
            "all in, the collective, all out; by max: on device by the longer of time and copies alone"
        )
    print_lines(console, [*notes, *lines])


def _device_cells(one: Predicted) -> list[str]:
    if one.device is None:
        return ["", "", ""]
    times = [format_seconds(seconds) for seconds in (one.device.segments, one.device.whole)]
    return [*times, three_digits(one.device.segments / max(one.device.copy, one.seconds))]


def _main_parts(one: Predicted) -> str:
    """The parts that make up 95 % of the time: `wire 83 %, latency 12 %`."""
    text: list[str] = []
    listed = 0.0
    for part, seconds in sorted(one.parts.items(), key=lambda item: -item[1]):
        if listed > 0.95 * one.seconds or seconds <= 0:
            break
        text.append(f"{part} {100 * seconds / one.seconds:.0f} %")
        listed += seconds
    return ", ".join(text)


def rule_text(regret: RuleRegret) -> str:
    """A line on what the built-in rule loses."""
    return (
        f"built-in rule: {100 * regret.mean:.1f} % slower than the best (mean), at worst "
        f"{100 * regret.worst:.0f} %: {regret.chosen} of {format_bytes(regret.call.bytes)}"
    )


def draw_predictions(
    title: str,
    curves: Iterable[Predicted],
    shown: Iterable[Predicted],
    bounds: Mapping[int, float | None],
    file: Path,
) -> None:
    """Draw throughput over size, a whole curve for each spec that is shown at some size."""
    lines: dict[str, list[tuple[int, float]]] = {one.spec: [] for one in shown}
    for one in curves:
        if one.spec in lines:
            lines[one.spec].append((one.bytes, one.bytes / one.seconds))
    limit = [(size, size / bound) for size, bound in bounds.items() if bound]
    plot_predictions(f"{title}, predicted", lines, limit, file)


def print_judgement(judgement: Judgement) -> None:
    """Print a row for each call, then the figures over all calls."""
    table = Table()
    for header in ("ranks", "size", "best measured", "the model's choice", "regret", "median error", "worst"):
        table.add_column(header, justify="left" if "measured" in header or "choice" in header else "right")
    for choice in judgement.choices:
        topology = parse_topology(choice.call.topology)
        errors = [abs(pair.error) for pair in choice.pairs]
        table.add_row(
            f"{topology.ranks} on {topology.nodes}",
            format_bytes(choice.call.bytes),
            choice.best,
            choice.chosen,
            f"{100 * choice.regret:.0f} %",
            f"{100 * statistics.median(errors):.0f} %",
            f"{100 * max(errors):.0f} %",
        )
    console = console_for(table)
    console.print(table)
    off = worst(judgement.pairs)
    what = f"{off.spec} of {format_bytes(off.bytes)} on {off.nodes} nodes of {off.ppn}"
    times = f"{format_seconds(off.predicted)} predicted, {format_seconds(off.measured)} measured"
    lines = [
        f"error of {len(judgement.pairs)} predictions: median {100 * median_error(judgement.pairs):.0f} %",
        f"the worst: {100 * off.error:+.0f} %, {what} ({times})",
        f"choices within 10 % of the best: {100 * judgement.good_choices:.0f} % of {len(judgement.choices)}",
        f"regret of choosing by the model alone: {100 * judgement.mean_regret:.1f} % (mean)",
    ]
    print_lines(console, lines, style="")
