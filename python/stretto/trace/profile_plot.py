# SPDX-License-Identifier: Apache-2.0
"""Draws the histograms of a profile."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from stretto.plots.drawing import draw_panels
from stretto.plots.panels import SIZE, Axis, Panel, Scale
from stretto.support.units import format_place
from stretto.trace.profile_file import Profile


def draw_profile(profile: Profile, file: Path) -> None:
    """Draw calls and time by message size, in bins of powers of two."""
    begins = sorted({float(one.begin) for one in profile.histogram})
    calls: dict[str, dict[float, float]] = defaultdict(lambda: dict.fromkeys(begins, 0.0))
    times: dict[str, dict[float, float]] = defaultdict(lambda: dict.fromkeys(begins, 0.0))
    for one in profile.histogram:
        calls[one.collective][one.begin] += one.calls
        times[one.collective][one.begin] += one.inside
    panels = [
        Panel("calls", calls, SIZE, Axis("calls", Scale.LOG), bars=True),
        Panel("time", times, SIZE, Axis("seconds, mean over ranks", Scale.LOG), bars=True),
    ]
    title = (
        f"{format_place(profile.ranks, profile.nodes)}, {100 * profile.share:.0f} % of "
        f"{profile.seconds:.3g} s in collectives"
    )
    draw_panels(title, panels, file)
