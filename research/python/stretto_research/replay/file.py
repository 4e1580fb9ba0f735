# SPDX-License-Identifier: Apache-2.0
"""The document of `stretto replay`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from stretto.support.json_files import document_text
from stretto_research.replay.comparison import Comparison, gain, median_error
from stretto_research.replay.play import Outcome
from stretto_research.replay.source import Source


def replay_json(
    command: Sequence[str],
    source: Source,
    outcomes: Sequence[Outcome],
    comparison: Sequence[Comparison] | None,
) -> str:
    """The document with all figures; `command` is the command line that made it."""
    site = outcomes[0].setup.site
    content: dict[str, Any] = {
        "source": source.name,
        "note": source.note,
        "gradients": [{"name": g.name, "bytes": g.bytes, "ready": g.ready} for g in source.gradients],
        "outcomes": [_outcome_json(one, outcomes) for one in outcomes],
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
    return document_text("stretto-replay", command, f"simulated: {site.platform.name}", content)


def _outcome_json(one: Outcome, outcomes: Sequence[Outcome]) -> dict[str, Any]:
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
        "speedup": gain(one, outcomes),
        "step_seconds": one.step_seconds,
        "compute_seconds": one.compute_seconds,
        "communication_seconds": one.communication_seconds,
        "exposed_seconds": one.exposed_seconds,
        "messages": [
            {"bytes": size, "per_step": count / len(one.steps)}
            for size, count in sorted(Counter(message.bytes for message in one.messages).items())
        ],
    }
