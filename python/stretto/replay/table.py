# SPDX-License-Identifier: Apache-2.0
"""Prints replays as tables, with notes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from stretto.replay.comparison import Comparison, gain, median_error, messages_per_step
from stretto.replay.durations import CallSource, Site
from stretto.replay.horovod import Settings
from stretto.replay.plan import Plan, Varies
from stretto.replay.play import Outcome
from stretto.simulate.jobs import LABELS
from stretto.spec.labels import label_of
from stretto.spec.native import NATIVE
from stretto.support.console import console_for, print_lines
from stretto.support.units import format_bytes, format_nodes, format_seconds, three_digits


def print_replay(plan: Plan, outcomes: Sequence[Outcome], comparison: Sequence[Comparison] | None) -> None:
    """Print the outcomes as tables, and notes on how to read them."""
    tables = [_comparison_table(comparison)] if comparison else []
    tables.append(
        _sweep_table(outcomes) if plan.varies is Varies.FUSION else _outcome_table(outcomes, plan.varies)
    )
    console = console_for(*tables)
    for table in tables:
        console.print(table)
    print_lines(console, _notes(plan, outcomes, comparison))


def _table(*titles: str) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    table.add_column(titles[0], no_wrap=True)
    for title in titles[1:]:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _outcome_table(outcomes: Sequence[Outcome], varies: Varies) -> Table:
    table = _table(
        "allreduce", "nodes", "images/s", "speedup", "efficiency", "step", "compute", "allreduces", "not "
        "hidden",
        "messages",
    )  # fmt: skip
    before = outcomes[0].setup.site.nodes
    for one in outcomes:
        if varies is Varies.NODES and one.setup.site.nodes != before:
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


def _notes(plan: Plan, outcomes: Sequence[Outcome], comparison: Sequence[Comparison] | None) -> list[str]:
    source, settings = plan.source, plan.settings
    setup = outcomes[0].setup
    site = setup.site
    total = sum(one.bytes for one in source.gradients)
    where = f"platform {site.platform.name}: {site.platform.description}"
    if plan.varies is not Varies.NODES:
        where += f"; {site.ranks} workers on {format_nodes(site.nodes)}"
    lines = [
        (
            f"{source.name}: {len(source.gradients)} gradients of {total / 1e6:.4g} MB, {setup.batch} images "
            f"per worker; {source.note}"
        ),
        where,
        (
            f"MPI default: {_of_calls(site)}; Horovod with a fusion buffer of "
            f"{format_bytes(settings.fusion)} and a cycle of {format_seconds(settings.cycle)}; virtual time, "
            f"mean of {len(outcomes[0].steps)} steps"
        ),
    ]
    if plan.varies is Varies.FUSION:
        lines += _sweep_notes(outcomes, settings)
    else:
        last = outcomes[-1]
        bins = ", ".join(
            f"{count:g} of {format_bytes(size)}" for size, count in messages_per_step(last).items()
        )
        lines.append(
            f"messages per step after merging, {label_of(last.setup.spec)}, by powers of two: {bins}"
        )
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
            f"{label_of(alone.setup.spec)} with that buffer"
        )
    ]
