# SPDX-License-Identifier: Apache-2.0
"""Draws replays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stretto.plots.drawing import draw_panels
from stretto.plots.panels import SIZE, Axis, Panel, Scale
from stretto.spec.labels import label_of
from stretto.support.units import format_nodes
from stretto_research.replay.comparison import Comparison, messages_per_step
from stretto_research.replay.plan import Plan, Varies
from stretto_research.replay.play import Outcome


def draw_replay(
    plan: Plan, outcomes: Sequence[Outcome], comparison: Sequence[Comparison] | None, file: Path
) -> None:
    """Draw images per second over what varies, and the messages after merging."""
    site = outcomes[0].setup.site
    where = (
        site.platform.name
        if plan.varies is Varies.NODES
        else f"{format_nodes(site.nodes)} of {site.platform.name}"
    )
    draw_panels(f"{plan.source.name} replayed on {where}", _panels(outcomes, plan.varies, comparison), file)


def _panels(
    outcomes: Sequence[Outcome], varies: Varies, comparison: Sequence[Comparison] | None
) -> list[Panel]:
    images = Axis("images/s", Scale.LINEAR)
    specs = list(dict.fromkeys(one.setup.spec for one in outcomes))

    def curves(x: str) -> dict[str, dict[float, float]]:
        found: dict[str, dict[float, float]] = {label_of(spec): {} for spec in specs}
        for one in outcomes:
            at = one.setup.site.nodes if x == "nodes" else one.setup.settings.fusion
            found[label_of(one.setup.spec)][at] = one.images_per_second
        return found

    if varies is Varies.FUSION:
        return [Panel("images/s", curves("fusion"), Axis("fusion buffer", Scale.BYTES), images)]
    if varies is Varies.NODES:
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
            Panel("efficiency", shares, nodes, Axis("computation in a step (%)", Scale.LINEAR)),
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
            {"messages per step": merged},
            SIZE,
            Axis("messages per step", Scale.LINEAR),
            bars=True,
        ),
    ]
