# SPDX-License-Identifier: Apache-2.0
"""Compares replays: with a measured training, and with the MPI default."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from stretto.spec.native import NATIVE
from stretto_research.networks.gradients import histogram
from stretto_research.replay.play import Outcome
from stretto_research.training.file import Images, MeasuredTraining


@dataclass(frozen=True, slots=True)
class Comparison:
    """Images per second with one spec, measured and replayed."""

    label: str
    spec: str
    measured: Images
    replayed: float | None
    """None if the simulation does not support this spec."""

    @property
    def error(self) -> float | None:
        """The relative error of the replay."""
        return None if self.replayed is None else self.replayed / self.measured.median - 1


def compare(measured: MeasuredTraining, outcomes: Sequence[Outcome]) -> list[Comparison]:
    """The lines of a measured training, each with its replay if there is one."""
    by_spec = {one.setup.spec: one.images_per_second for one in outcomes}
    return [
        Comparison(one.label, one.spec, one.images_per_second, by_spec.get(one.spec))
        for one in measured.lines
    ]


def median_error(comparison: Sequence[Comparison]) -> float | None:
    """The median absolute error over all lines; None if none was replayed."""
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
    """Messages per step after merging, in bins of powers of two of bytes."""
    bins = histogram([one.bytes for one in outcome.messages])
    return {one.begin: one.messages / len(outcome.steps) for one in bins}
