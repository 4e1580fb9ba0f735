# SPDX-License-Identifier: Apache-2.0
"""Prints replays as tables, with notes."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.spec.labels import label_of
from stretto.spec.native import NATIVE
from stretto.support.console import print_lines
from stretto.support.tables import Column, ResultTable
from stretto.support.units import format_bytes, format_nodes, format_percent, format_seconds, three_digits
from stretto_research.replay.comparison import Comparison, gain, median_error, messages_per_step
from stretto_research.replay.durations import CallSource, Site
from stretto_research.replay.horovod import Settings
from stretto_research.replay.plan import Plan, Varies
from stretto_research.replay.play import Outcome
from stretto_research.simulate.jobs import LABELS


def print_replay(plan: Plan, outcomes: Sequence[Outcome], comparison: Sequence[Comparison] | None) -> None:
    """Print the outcomes as tables, and notes on how to read them."""
    if comparison:
        _comparison_table(comparison).print()
    if plan.varies is Varies.FUSION:
        _sweep_table(outcomes).print()
    else:
        _outcome_table(outcomes, plan.varies).print()
    print_lines(_notes(plan, outcomes, comparison))


def _outcome_table(outcomes: Sequence[Outcome], varies: Varies) -> ResultTable[Outcome]:
    def speedup(one: Outcome) -> str:
        its_gain = gain(one, outcomes)
        return f"{its_gain:.3f}" if its_gain else ""

    def efficiency(one: Outcome) -> str:
        return format_percent(one.compute_seconds / one.step_seconds, 1)

    def exposed(one: Outcome) -> str:
        return format_seconds(one.exposed_seconds) if one.exposed_seconds > 0 else "0"

    return ResultTable(
        [
            Column("allreduce", lambda one: label_of(one.setup.spec), left=True, is_key=True),
            Column("nodes", lambda one: str(one.setup.site.nodes)),
            Column("images/s", lambda one: three_digits(one.images_per_second)),
            Column("speedup", speedup),
            Column("efficiency", efficiency, detail=1),
            Column("step", lambda one: format_seconds(one.step_seconds)),
            Column("compute", lambda one: format_seconds(one.compute_seconds), detail=2),
            Column("allreduces", lambda one: format_seconds(one.communication_seconds), detail=2),
            Column("not hidden", exposed, detail=1),
            Column("messages", lambda one: f"{len(one.messages) / len(one.steps):.1f}", detail=3),
        ],
        outcomes,
        section=(lambda one: one.setup.site.nodes) if varies is Varies.NODES else None,
    )


def _sweep_table(outcomes: Sequence[Outcome]) -> ResultTable[int]:
    best = _best(outcomes)
    found = {(one.setup.settings.fusion, one.setup.spec): one for one in outcomes}

    def column(spec: str) -> Column[int]:
        def rate(fusion: int) -> str:
            one = found[fusion, spec]
            return f"{'*' if one is best else ''}{three_digits(one.images_per_second)}"

        return Column(label_of(spec), rate)

    return ResultTable(
        [
            Column("fusion buffer", format_bytes, left=True, is_key=True),
            *map(column, dict.fromkeys(one.setup.spec for one in outcomes)),
        ],
        list(dict.fromkeys(one.setup.settings.fusion for one in outcomes)),
        title="images/s (*: the most)",
    )


def _best(outcomes: Sequence[Outcome]) -> Outcome:
    return max(outcomes, key=lambda one: one.images_per_second)


def _comparison_table(comparison: Sequence[Comparison]) -> ResultTable[Comparison]:
    def replayed(one: Comparison) -> str:
        return three_digits(one.replayed) if one.replayed is not None else "not simulated"

    return ResultTable(
        [
            Column("measured training", lambda one: one.label, left=True, is_key=True),
            Column("spec", lambda one: one.spec, left=True, is_key=True),
            Column("measured, images/s", lambda one: three_digits(one.measured.median)),
            Column("replayed", replayed),
            Column(
                "error",
                lambda one: format_percent(one.error, 1, signed=True) if one.error is not None else "",
            ),
        ],
        comparison,
    )


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
        lines.append(f"median error {format_percent(error, 1)}")
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
            f"best: {found}: {format_percent(over_native, 2)} more images/s than the MPI default with "
            f"{format_bytes(settings.fusion)}, {format_percent(over_alone, 2)} more than "
            f"{label_of(alone.setup.spec)} with that buffer"
        )
    ]
