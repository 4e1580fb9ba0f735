# SPDX-License-Identifier: Apache-2.0
"""What `stretto replay` prints, draws and writes."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.plots.panels import SIZE, Axis, Panel, Scale
from stretto.replay.durations import CallSource, Site
from stretto.replay.horovod import Settings
from stretto.replay.play import Outcome
from stretto.replay.source import Source
from stretto.simulate.jobs import LABELS
from stretto.spec.labels import label_of
from stretto.spec.native import NATIVE
from stretto.spec.networks import histogram
from stretto.support.console import console_for
from stretto.support.json_files import file_text
from stretto.support.units import format_bytes, format_nodes, format_seconds, three_digits
from stretto.training.file import Images


class Drawing(Enum):
    """What was varied."""

    SPECS = auto()
    SCALING = auto()
    SWEEP = auto()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Images a second of one way, measured and replayed."""

    label: str
    spec: str
    measured: Images
    replayed: float | None
    """None: SMPI does not imitate it."""

    @property
    def error(self) -> float | None:
        """How much more the replay says, as a part of what was measured."""
        return None if self.replayed is None else self.replayed / self.measured.median - 1


def median_error(comparison: Sequence[Comparison]) -> float | None:
    """Of all lines, without signs."""
    errors = [abs(one.error) for one in comparison if one.error is not None]
    return statistics.median(errors) if errors else None


def gain(outcome: Outcome, outcomes: Sequence[Outcome]) -> float | None:
    """The speedup over the MPI default with the same nodes and settings; None if that was not replayed."""
    for one in outcomes:
        if one.setup.spec == NATIVE and (one.setup.site, one.setup.settings) == (
            outcome.setup.site,
            outcome.setup.settings,
        ):
            return outcome.images_per_second / one.images_per_second
    return None


def messages_per_step(outcome: Outcome) -> dict[int, float]:
    """How many messages of each power of two of bytes a step has, after Horovod merged gradients."""
    bins = histogram([one.bytes for one in outcome.messages])
    return {one.begin: one.messages / len(outcome.steps) for one in bins}


def print_replay(
    source: Source,
    outcomes: Sequence[Outcome],
    kind: Drawing,
    settings: Settings,
    comparison: Sequence[Comparison] | None,
) -> None:
    """Tables, and what must be known to read them."""
    tables = [_comparison_table(comparison)] if comparison else []
    tables.append(_sweep_table(outcomes) if kind is Drawing.SWEEP else _outcome_table(outcomes, kind))
    console = console_for(*tables)
    for table in tables:
        console.print(table)
    for line in _notes(source, outcomes, kind, settings, comparison):
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _table(*titles: str) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column(titles[0], no_wrap=True)
    for title in titles[1:]:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _outcome_table(outcomes: Sequence[Outcome], kind: Drawing) -> Table:
    table = _table(
        "allreduce", "nodes", "images/s", "speedup", "efficiency", "step", "compute", "allreduces", "not "
        "hidden",
        "messages",
    )  # fmt: skip
    before = outcomes[0].setup.site.nodes
    for one in outcomes:
        if kind is Drawing.SCALING and one.setup.site.nodes != before:
            table.add_section()
            before = one.setup.site.nodes
        its_gain = gain(one, outcomes)
        table.add_row(
            label_of(one.setup.spec),
            str(one.setup.site.nodes),
            three_digits(one.images_per_second),
            f"{its_gain:.3f}" if its_gain else "",
            f"{100 * one.compute_seconds / one.step_seconds:.1f} %",
            format_seconds(one.step_seconds),
            format_seconds(one.compute_seconds),
            format_seconds(one.communication_seconds),
            format_seconds(max(0.0, one.exposed_seconds)) if one.exposed_seconds > 0 else "0",
            f"{len(one.messages) / len(one.steps):.1f}",
        )
    return table


def _sweep_table(outcomes: Sequence[Outcome]) -> Table:
    specs = list(dict.fromkeys(one.setup.spec for one in outcomes))
    best = _best(outcomes)
    table = _table("fusion buffer", *(label_of(spec) for spec in specs))
    for size in dict.fromkeys(one.setup.settings.fusion for one in outcomes):
        row = [one for one in outcomes if one.setup.settings.fusion == size]
        cells = [
            f"[bold]{three_digits(one.images_per_second)}[/]"
            if one is best
            else three_digits(one.images_per_second)
            for one in row
        ]
        table.add_row(format_bytes(size), *cells)
    return table


def _best(outcomes: Sequence[Outcome]) -> Outcome:
    return max(outcomes, key=lambda one: one.images_per_second)


def _comparison_table(comparison: Sequence[Comparison]) -> Table:
    table = _table("measured training", "spec", "measured, images/s", "replayed", "error")
    for one in comparison:
        table.add_row(
            one.label,
            one.spec,
            three_digits(one.measured.median),
            three_digits(one.replayed) if one.replayed is not None else "not simulated",
            f"{100 * one.error:+.1f} %" if one.error is not None else "",
        )
    return table


def _notes(
    source: Source,
    outcomes: Sequence[Outcome],
    kind: Drawing,
    settings: Settings,
    comparison: Sequence[Comparison] | None,
) -> list[str]:
    setup = outcomes[0].setup
    site = setup.site
    total = sum(one.bytes for one in source.gradients)
    where = f"platform {site.platform.name}: {site.platform.description}"
    if kind is not Drawing.SCALING:
        where += f"; {site.ranks} workers on {format_nodes(site.nodes)}"
    lines = [
        (
            f"{source.name}: {len(source.gradients)} gradients of {total / 1e6:.4g} MB, {setup.batch} images "
            f"a worker; {source.note}"
        ),
        where,
        (
            f"MPI default: {_of_calls(site)}; Horovod with a fusion buffer of "
            f"{format_bytes(settings.fusion)} and a cycle of {format_seconds(settings.cycle)}; virtual time, "
            f"the mean of {len(outcomes[0].steps)} steps"
        ),
    ]
    if kind is Drawing.SWEEP:
        lines += _sweep_notes(outcomes, settings)
    else:
        last = outcomes[-1]
        bins = ", ".join(
            f"{count:g} of {format_bytes(size)}" for size, count in messages_per_step(last).items()
        )
        lines.append(f"messages a step after merging, {label_of(last.setup.spec)}, by powers of two: {bins}")
    error = median_error(comparison) if comparison else None
    if error is not None:
        lines.append(f"median error {100 * error:.1f} %")
    return lines


def _of_calls(site: Site) -> str:
    label = LABELS[site.selector]
    return f"SMPI as {label}" if site.source is CallSource.SMPI else f"{label}'s choice, modelled"


def _sweep_notes(outcomes: Sequence[Outcome], settings: Settings) -> list[str]:
    best = _best(outcomes)
    usual = [one for one in outcomes if one.setup.settings.fusion == settings.fusion]
    native = next(one for one in usual if one.setup.spec == NATIVE)
    alone = _best(usual)
    found = f"{label_of(best.setup.spec)} with {format_bytes(best.setup.settings.fusion)}"
    over_native = best.images_per_second / native.images_per_second - 1
    over_alone = best.images_per_second / alone.images_per_second - 1
    return [
        (
            f"best: {found}: {100 * over_native:.2f} % more images/s than the MPI default with "
            f"{format_bytes(settings.fusion)}, {100 * over_alone:.2f} % more than "
            f"{label_of(alone.setup.spec)} with that"
        )
    ]


def replay_json(
    command: Sequence[str],
    source: Source,
    outcomes: Sequence[Outcome],
    comparison: Sequence[Comparison] | None,
) -> str:
    """All figures, as a file."""
    site = outcomes[0].setup.site
    content: dict[str, Any] = {
        "source": source.name,
        "note": source.note,
        "gradients": [{"name": g.name, "bytes": g.bytes, "ready": g.ready} for g in source.gradients],
        "outcomes": [_outcome_json(one) for one in outcomes],
    }
    if comparison:
        content["against"] = [
            {
                "label": one.label,
                "spec": one.spec,
                "measured": one.measured.median,
                "replayed": one.replayed,
                "error": one.error,
            }
            for one in comparison
        ]
        content["median_error"] = median_error(comparison)
    return file_text("stretto-replay", command, f"simulated: {site.platform.name}", content)


def _outcome_json(one: Outcome) -> dict[str, Any]:
    setup = one.setup
    return {
        "spec": setup.spec,
        "nodes": setup.site.nodes,
        "ppn": setup.site.ppn,
        "selector": setup.site.selector,
        "calls": setup.site.source.value,
        "batch": setup.batch,
        "fusion_bytes": setup.settings.fusion,
        "cycle_seconds": setup.settings.cycle,
        "interference": setup.settings.interference,
        "imbalance": setup.imbalance,
        "seed": setup.seed,
        "images_per_second": one.images_per_second,
        "step_seconds": one.step_seconds,
        "compute_seconds": one.compute_seconds,
        "communication_seconds": one.communication_seconds,
        "exposed_seconds": one.exposed_seconds,
        "messages": [
            {"bytes": size, "per_step": count / len(one.steps)}
            for size, count in sorted(Counter(message.bytes for message in one.messages).items())
        ],
    }


def draw_replay(
    source: Source,
    outcomes: Sequence[Outcome],
    kind: Drawing,
    comparison: Sequence[Comparison] | None,
    file: Path,
) -> None:
    """Images a second by what was varied, and messages after merging."""
    from stretto.plots.drawing import draw_panels  # noqa: PLC0415  Matplotlib is slow to load

    site = outcomes[0].setup.site
    where = (
        site.platform.name
        if kind is Drawing.SCALING
        else f"{format_nodes(site.nodes)} of {site.platform.name}"
    )
    draw_panels(f"{source.name} replayed on {where}", _panels(outcomes, kind, comparison), file)


def _panels(
    outcomes: Sequence[Outcome], kind: Drawing, comparison: Sequence[Comparison] | None
) -> list[Panel]:
    images = Axis("images/s", Scale.LINEAR)
    specs = list(dict.fromkeys(one.setup.spec for one in outcomes))

    def curves(x: str) -> dict[str, dict[float, float]]:
        found: dict[str, dict[float, float]] = {label_of(spec): {} for spec in specs}
        for one in outcomes:
            at = one.setup.site.nodes if x == "nodes" else one.setup.settings.fusion
            found[label_of(one.setup.spec)][at] = one.images_per_second
        return found

    if kind is Drawing.SWEEP:
        return [Panel("images/s", curves("fusion"), Axis("fusion buffer", Scale.BYTES), images)]
    if kind is Drawing.SCALING:
        shares = {
            label_of(spec): {
                float(one.setup.site.nodes): 100 * one.compute_seconds / one.step_seconds
                for one in outcomes
                if one.setup.spec == spec
            }
            for spec in specs
        }
        nodes = Axis("nodes", Scale.POWERS)
        return [
            Panel("images/s", curves("nodes"), nodes, Axis("images/s", Scale.LOG)),
            Panel("efficiency", shares, nodes, Axis("of the step that is computing (%)", Scale.LINEAR)),
        ]
    labels = {float(place): label_of(one.setup.spec) for place, one in enumerate(outcomes)}
    bars = {"replayed": {float(place): one.images_per_second for place, one in enumerate(outcomes)}}
    if comparison:
        by_spec = {one.spec: one.measured.median for one in comparison}
        bars["measured"] = {
            float(place): by_spec[one.setup.spec]
            for place, one in enumerate(outcomes)
            if one.setup.spec in by_spec
        }
    merged = {float(size): count for size, count in messages_per_step(outcomes[-1]).items()}
    return [
        Panel("images/s", bars, Axis("", Scale.LINEAR), images, bars=True, ticks=labels),
        Panel(
            f"messages after merging, {label_of(outcomes[-1].setup.spec)}",
            {"messages a step": merged},
            SIZE,
            Axis("messages a step", Scale.LINEAR),
            bars=True,
        ),
    ]
