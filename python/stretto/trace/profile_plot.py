# SPDX-License-Identifier: Apache-2.0
"""Draws the histograms of a profile."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from stretto.plots.drawing import draw_panels
from stretto.plots.panels import Axis, Panel, Scale
from stretto.support.units import format_percent, format_place, format_seconds
from stretto.trace.profile_file import Profile

_FROM = Axis("message size, from", Scale.BYTES)


def draw_profile(profile: Profile, file: Path) -> None:
    """Draw calls and time by message size, in bins of powers of two."""
    begins = sorted({float(one.begin) for one in profile.histogram})
    calls: dict[str, dict[float, float]] = defaultdict(lambda: dict.fromkeys(begins, 0.0))
    times: dict[str, dict[float, float]] = defaultdict(lambda: dict.fromkeys(begins, 0.0))
    for one in profile.histogram:
        calls[one.collective][one.begin] += one.calls
        times[one.collective][one.begin] += one.inside
    panels = [
        Panel("calls", calls, _FROM, Axis("calls", Scale.COUNT), bars=True, stacked=True),
        Panel("time, mean over ranks", times, _FROM, Axis("", Scale.SECONDS), bars=True, stacked=True),
    ]
    title = (
        f"{format_place(profile.ranks, profile.nodes)}, {format_percent(profile.share)} of "
        f"{format_seconds(profile.seconds)} in collectives"
    )
    draw_panels(title, panels, file)
