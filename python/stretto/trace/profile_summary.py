# SPDX-License-Identifier: Apache-2.0
"""Makes the profile of a job from the traces of its ranks and the timeline of its framework."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from stretto.trace.analysis import Call, Collective, join, sum_up
from stretto.trace.files import TraceFolder
from stretto.trace.horovod_timeline import Steps
from stretto.trace.profile_file import (
    FORMAT,
    Bin,
    Calls,
    GradientPart,
    MessagePart,
    Profile,
    Spread,
    Training,
)

_MICROSECOND = 1e-6
_HIGH = 0.95


def make_profile(found: TraceFolder, training: Steps | None) -> Profile:
    """Returns the profile of a traced job, with its training steps if there are any."""
    collectives = join(call for one in found.traces for call in one.calls)
    totals = sum_up(collectives, (one.rank for one in found.traces))
    gaps = _gaps(call for one in found.traces for call in one.calls)
    spans = [_span(one.calls) for one in found.traces]
    return Profile(
        format=FORMAT,
        version=1,
        ranks=found.ranks,
        nodes=len({one.node for one in found.traces}),
        seconds=statistics.fmean(spans) * _MICROSECOND,
        inside=statistics.fmean(totals.inside.values()) * _MICROSECOND,
        waiting=statistics.fmean(totals.waiting.values()) * _MICROSECOND,
        clock_error=found.clock_error * _MICROSECOND,
        within_clock_errors=totals.within_clock_errors,
        contradictions=totals.contradictions,
        collectives=_calls(collectives, gaps),
        histogram=_histogram(collectives),
        training=_training(training) if training else None,
    )


def _span(calls: Sequence[Call]) -> float:
    return max(one.end for one in calls) - min(one.begin for one in calls) if calls else 0.0


def _gaps(calls: Iterable[Call]) -> dict[tuple[int, str, int], float]:
    """Returns the microseconds outside collectives before each call of a rank except its first."""
    of_rank: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        of_rank[call.rank].append(call)
    gaps = {}
    for rank, row in of_rank.items():
        until = math.inf
        for call in sorted(row, key=lambda one: one.begin):
            if until < math.inf:
                gaps[rank, call.communicator, call.sequence] = max(0.0, call.begin - until)
                until = max(until, call.end)
            else:
                until = call.end
    return gaps


def _inside(collectives: Iterable[Collective]) -> float:
    """Returns the seconds inside these collectives, as the mean over ranks."""
    return sum(
        statistics.fmean(call.end - call.begin for call in one.calls) * _MICROSECOND for one in collectives
    )


def _calls(collectives: Iterable[Collective], gaps: dict[tuple[int, str, int], float]) -> list[Calls]:
    groups: dict[tuple[str, str, str, int, int], list[Collective]] = defaultdict(list)
    for one in collectives:
        call = one.last
        groups[call.name, call.spec, call.form, call.ranks, call.bytes].append(one)
    rows = []
    for (name, spec, form, ranks, size), group in groups.items():
        keys = [(call.rank, call.communicator, call.sequence) for one in group for call in one.calls]
        rows.append(
            Calls(
                collective=name,
                spec=spec,
                form=form,
                ranks=ranks,
                bytes=size,
                calls=len(group),
                total_bytes=size * len(group),
                seconds=_spread([one.total for one in group]),
                inside=_inside(group),
                arrival=_spread([one.wait for one in group]),
                gap=_spread([gaps[key] for key in keys if key in gaps]),
            )
        )
    return sorted(rows, key=lambda one: (one.collective, one.bytes, one.spec, one.form, one.ranks))


def _histogram(collectives: Iterable[Collective]) -> list[Bin]:
    groups: dict[tuple[str, int], list[Collective]] = defaultdict(list)
    for one in collectives:
        size = one.last.bytes
        groups[one.last.name, 1 << size.bit_length() - 1 if size else 0].append(one)
    return [
        Bin(
            collective=name,
            begin=begin,
            calls=len(group),
            total_bytes=sum(one.last.bytes for one in group),
            inside=_inside(group),
        )
        for (name, begin), group in sorted(groups.items())
    ]


def _spread(microseconds: Sequence[float]) -> Spread:
    """Returns the median and the 95th percentile, which at most 5 % of the values exceed."""
    if not microseconds:
        return Spread(median=0.0, p95=0.0)
    ascending = sorted(microseconds)
    high = ascending[math.ceil(_HIGH * len(ascending)) - 1]
    return Spread(median=statistics.median(ascending) * _MICROSECOND, p95=high * _MICROSECOND)


def _training(steps: Steps) -> Training:
    return Training(
        framework="horovod",
        steps=steps.count,
        step_seconds=steps.seconds,
        compute_seconds=max(one.ready for one in steps.gradients),
        uncertainty_seconds=steps.uncertainty,
        gradients=[GradientPart(name=one.name, bytes=one.bytes, ready=one.ready) for one in steps.gradients],
        messages=[MessagePart(bytes=size, per_step=count) for size, count in steps.messages.items()],
    )
