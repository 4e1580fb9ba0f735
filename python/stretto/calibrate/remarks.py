# SPDX-License-Identifier: Apache-2.0
"""Remarks on a calibration's quality: other programs, outliers, drift, bad fits."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from stretto.calibrate.fit import Fit
from stretto.calibrate.points import Measured, Points
from stretto.calibrate.protocols import predict
from stretto.support.units import format_bytes, format_percent

_BUSY_CORES = 0.25
_STOLEN = 0.01
_OUTLIERS = 0.1
_DRIFT = 0.05
_MISFIT = 0.1
_NAMES = {
    "ping-pong": "messages",
    "flows": "messages of several ranks",
    "one-way": "single messages",
    "reduction": "reductions",
    "shared": "messages through shared memory",
    "engine": "calls of the engine",
    "messages": "messages at once",
    "round-trip": "round trips",
}
_MOMENTS = ("before measuring", "halfway through", "after measuring")


def find_remarks(measured: Measured, found: Fit) -> list[str]:
    """One line for each problem that was noticed."""
    return [
        *_load_remarks(measured),
        *_outlier_remarks(measured, found),
        *_drift_remarks(measured),
        *_residual_remarks(measured, found),
    ]


def _load_remarks(measured: Measured) -> list[str]:
    remarks = []
    for moment, nodes in zip(_MOMENTS, measured.loads, strict=False):
        worst = max(nodes, key=lambda node: node.busy / node.cores)
        if worst.busy > max(_BUSY_CORES, 0.05 * worst.cores):
            average = f" (load average {worst.load:.1f})" if moment == _MOMENTS[0] else ""
            remarks.append(
                f"{moment}, others kept {worst.busy:.1f} of {worst.cores:.0f} cores of {worst.host} busy "
                f"while all ranks slept{average}"
            )
    # Stolen time is counted since the last look, so the first look has none.
    robbed = [node for nodes in measured.loads[1:] for node in nodes if node.stolen > _STOLEN]
    if robbed:
        worst = max(robbed, key=lambda node: node.stolen)
        remarks.append(
            f"a hypervisor gave {format_percent(worst.stolen)} of the time of {worst.host} to others"
        )
    return remarks


def _outlier_remarks(measured: Measured, found: Fit) -> list[str]:
    remarks = []
    for (what, level), cases in _by_kind(measured).items():
        fits = [found.of(one) for one in cases]
        share = sum(one.outliers for one in fits) / sum(one.count for one in fits)
        if share > _OUTLIERS:
            where = f" of level {level}" if level else ""
            worst = max(cases, key=lambda one: found.of(one).outliers / found.of(one).count)
            most = found.of(worst).outliers / found.of(worst).count
            size = f" at {format_bytes(worst.bytes)}" if "bytes" in worst.about else ""
            remarks.append(
                f"{format_percent(share)} of the samples of {_NAMES[what]}{where} are outliers, up to "
                f"{format_percent(most)}{size}: something else was running"
            )
    return remarks


def _drift_remarks(measured: Measured) -> list[str]:
    """Remarks on kinds of points whose first and last passes differ as a whole."""
    remarks = []
    for (what, level), cases in _by_kind(measured).items():
        logs = [
            math.log(float(np.median(one.passes[-1])) / float(np.median(one.passes[0])))
            for one in cases
            if len(one.passes) > 1 and one.passes[0] and one.passes[-1]
        ]
        if len(logs) < 3:
            continue
        middle = float(np.median(logs))
        error = 1.25 * float(np.std(logs)) / math.sqrt(len(logs))
        if abs(middle) > _DRIFT and abs(middle) > 3 * error:
            where = f" of level {level}" if level else ""
            change = "slower" if middle > 0 else "faster"
            remarks.append(
                f"in the second half {_NAMES[what]}{where} were {format_percent(math.expm1(abs(middle)))} "
                f"{change} than in the first: the machine changed meanwhile"
            )
    return remarks


def _residual_remarks(measured: Measured, found: Fit) -> list[str]:
    remarks = []
    for level, pieces in found.levels.items():
        points = measured.of("ping-pong", level=level)
        bucket = found.bucket if level == "network" else None
        sizes = np.asarray([float(one.bytes) for one in points])
        times = np.asarray([found.of(one).value for one in points])
        deviations = np.abs(times / predict(pieces, sizes, bucket) - 1)
        worst = int(np.argmax(deviations))
        if float(np.median(deviations)) > _MISFIT:
            middle = format_percent(float(np.median(deviations)))
            remarks.append(
                f"the fit of level {level} is off by {middle} (median), "
                f"{format_percent(float(deviations[worst]))} at {format_bytes(points[worst].bytes)}"
            )
    return remarks


def _by_kind(measured: Measured) -> dict[tuple[str, str], list[Points]]:
    kinds: dict[tuple[str, str], list[Points]] = defaultdict(list)
    for one in measured.points:
        if one.what in _NAMES and one.seconds:
            kinds[one.what, one.about.get("level", one.about.get("limit", ""))].append(one)
    return kinds
