# SPDX-License-Identifier: Apache-2.0
"""The data of a chart: panels, each with its axes and its labelled curves or bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Curve = Mapping[float, float]
"""Maps x to y."""


class Scale(StrEnum):
    """The scale of an axis."""

    BYTES = "bytes"
    """Powers of two, labelled as sizes."""
    POWERS = "powers"
    """Powers of two, labelled as numbers."""
    LOG = "log"
    LINEAR = "linear"
    COUNT = "count"
    """Linear, labelled with whole numbers."""
    SECONDS = "seconds"
    """Linear, labelled as times."""
    LOG_SECONDS = "log seconds"
    """Powers of ten, labelled as times."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a panel."""

    label: str
    scale: Scale


SIZE = Axis("message size", Scale.BYTES)
THROUGHPUT = Axis("throughput (MB/s)", Scale.LINEAR)
"""Millions of message bytes per second, as the papers draw it."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of a figure."""

    title: str
    curves: Mapping[str, Curve]
    """Curves by label. With `bars`, x counts the bars from 0."""
    x: Axis = SIZE
    y: Axis = THROUGHPUT
    bars: bool = False
    stacked: bool = False
    """Whether bars of one x are stacked, which shows their sum. The y axis must be linear."""
    ticks: Mapping[float, str] = field(default_factory=dict)
    """Labels at positions of the x axis, in place of the numbers."""
