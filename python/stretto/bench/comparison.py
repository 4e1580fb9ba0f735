# SPDX-License-Identifier: Apache-2.0
"""Measures several specs of a collective in one run, and reports, for `stretto bench`."""

from __future__ import annotations

import sys
from pathlib import Path

from stretto.bench.earlier import complain_of_slower, find_changes, print_changes, read_earlier
from stretto.bench.files import Outcome, Outputs
from stretto.bench.report import report
from stretto.bench.request import Request
from stretto.bench.targets import Place, find_target, link_bound, measure
from stretto.results.runs import EndedError, Run
from stretto.support.console import progress_bar
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.machine_load import LoadWatch


def compare(
    request: Request,
    place: Place,
    rate: float | None,
    outputs: Outputs,
    *,
    earlier: Path | None = None,
    tolerance: float = 0.0,
    as_json: bool,
) -> None:
    """Measure, print and write. If the run is interrupted, report what was measured before.

    `rate` is that of a node's link in bytes per second, if the user knows it. `earlier` is the file of an
    earlier run; raises SlowerError if a call takes longer than then by more than the part `tolerance`.
    """
    before = read_earlier(earlier, request.collective) if earlier else None
    arguments = request.arguments(has_library=place.has_library)
    target = find_target(place, may_lack_mpi=True)
    run = Run()
    watch = LoadWatch()

    def finish(incomplete: str = "") -> None:
        load = watch.look(run.ranks if run.nodes == 1 or target.links is not None else None)
        outcome = Outcome(run, link_bound(run, target, rate), load, incomplete)
        report(outcome, emulated=target.links is not None, outputs=outputs, as_json=as_json)

    try:
        with progress_bar("measuring") as progress:
            measure(target, arguments, progress, run)
    except INTERRUPTIONS as ended:
        name = signal_of(ended).name
        if run.series:
            finish(f"{name} ended it before its last result")
        else:
            print(f"stretto: {name} came before the first result: nothing was written", file=sys.stderr)
        raise
    except EndedError as error:
        if run.series:
            finish(str(error))
        raise
    finish()
    if before:
        changes = find_changes(before, run)
        if not as_json:
            print_changes(changes, tolerance)
        complain_of_slower(changes, tolerance)
