# SPDX-License-Identifier: Apache-2.0
"""Prints and draws what `stretto predict` finds: predicted times, or how good the model is."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from stretto.plots.runs import plot_predictions
from stretto.spec.topologies import parse_topology
from stretto.support.console import print_lines
from stretto.support.tables import Column, ResultTable, marked
from stretto.support.units import (
    format_bandwidth,
    format_bytes,
    format_percent,
    format_place,
    format_seconds,
    three_digits,
)
from stretto_research.predict.file import median_error, worst
from stretto_research.predict.judgement import Choice, Judgement
from stretto_research.predict.specs import Predicted, RuleRegret

_DEVICE = ("on device", "as a whole", "by max")


def print_predictions(
    title: str, predictions: Sequence[Predicted], bounds: Mapping[int, float | None], notes: Iterable[str]
) -> None:
    """Print the predictions of each size; `bounds`: the least seconds that the links need, by size."""
    best = {size: min(one.seconds for one in predictions if one.bytes == size) for size in bounds}

    def of_bound(one: Predicted) -> str:
        bound = bounds[one.bytes]
        return format_percent(bound / one.seconds) if bound else ""

    ResultTable(
        [
            Column("size", lambda one: format_bytes(one.bytes), is_key=True),
            marked(lambda one: one.seconds == best[one.bytes]),
            Column("spec", lambda one: one.spec, left=True, is_key=True),
            Column("time", lambda one: format_seconds(one.seconds)),
            Column("MB/s", lambda one: format_bandwidth(one.bytes / one.seconds), detail=1),
            Column("of bound", of_bound),
            *(Column(title, _device_cell(at)) for at, title in enumerate(_DEVICE)),
            Column("of which", _main_parts, left=True, wraps=True, is_key=True, detail=1),
        ],
        sorted(predictions, key=lambda one: list(bounds).index(one.bytes)),
        title=title,
        section=lambda one: one.bytes,
        style=lambda one: "bold" if one.seconds == best[one.bytes] else "",
    ).print()
    on_device = any(one.device for one in predictions)
    extrapolated = any(one.extrapolated for one in predictions)
    lines = [
        "MB/s: 10⁶ bytes of message by time; *: the best of a size; native: the best textbook algorithm",
        "of which: what the critical path consists of"
        + ("; some times are extrapolated from fewer nodes or segments" if extrapolated else ""),
    ]
    if on_device:
        lines.append(
            "on device: the buffers are in device memory, and are copied segment by segment; as a whole: "
            "all data are copied in before the collective, and out after it; by max: on device, as a ratio "
            "to the longer of time and copies alone"
        )
    print_lines([*notes, *lines])


def _device_cell(at: int) -> Callable[[Predicted], str]:
    def text(one: Predicted) -> str:
        if one.device is None:
            return ""
        by_longer = three_digits(one.device.segments / max(one.device.copy, one.seconds))
        return (format_seconds(one.device.segments), format_seconds(one.device.whole), by_longer)[at]

    return text


def _main_parts(one: Predicted) -> str:
    """The parts that make up 95 % of the time: `wire 83 %, latency 12 %`."""
    text: list[str] = []
    listed = 0.0
    for part, seconds in sorted(one.parts.items(), key=lambda item: -item[1]):
        if listed > 0.95 * one.seconds or seconds <= 0:
            break
        text.append(f"{part} {format_percent(seconds / one.seconds)}")
        listed += seconds
    return ", ".join(text)


def rule_text(regret: RuleRegret) -> str:
    """A line on how much slower the built-in rule's choices are than the best."""
    return (
        f"built-in rule: {format_percent(regret.mean, 1)} slower than the best (mean), at worst "
        f"{format_percent(regret.worst)}: {regret.chosen} of {format_bytes(regret.call.bytes)}"
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


def _place(choice: Choice) -> str:
    topology = parse_topology(choice.call.topology)
    return format_place(topology.ranks, topology.nodes)


def _errors(choice: Choice) -> list[float]:
    return [abs(pair.error) for pair in choice.pairs]


def print_judgement(judgement: Judgement) -> None:
    """Print a row for each call, then the figures over all calls."""
    ResultTable(
        [
            Column("job", _place, left=True),
            Column("size", lambda one: format_bytes(one.call.bytes), is_key=True),
            Column("best measured", lambda one: one.best, left=True, is_key=True),
            Column("the model's choice", lambda one: one.chosen, left=True, is_key=True),
            Column("regret", lambda one: format_percent(one.regret)),
            Column("median error", lambda one: format_percent(statistics.median(_errors(one))), detail=1),
            Column("worst", lambda one: format_percent(max(_errors(one))), detail=2),
        ],
        judgement.choices,
    ).print()
    off = worst(judgement.pairs)
    what = f"{off.spec} of {format_bytes(off.bytes)} on {off.nodes} nodes of {off.ppn}"
    times = f"{format_seconds(off.predicted)} predicted, {format_seconds(off.measured)} measured"
    middle, good = format_percent(median_error(judgement.pairs)), format_percent(judgement.good_choices)
    lines = [
        f"error of {len(judgement.pairs)} predictions: median {middle}",
        f"the worst: {format_percent(off.error, signed=True)}, {what} ({times})",
        f"choices within 10 % of the best: {good} of {len(judgement.choices)}",
        f"regret of choosing by the model alone: {format_percent(judgement.mean_regret, 1)} (mean)",
    ]
    print_lines(lines, style="")
