# SPDX-License-Identifier: Apache-2.0
"""`stretto bench`: measure collectives by several specs in one run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto.bench.files import Outcome, Outputs
from stretto.bench.options import (
    ElementType,
    InPlace,
    check_call,
    find_collective,
    parse_specs,
    progress_bar,
)
from stretto.bench.table import notes, results_table
from stretto.bench.targets import Place, find_target, link_bound, measure
from stretto.cli.options import (
    Element,
    LabName,
    LabPpn,
    LauncherLine,
    LinkRate,
    MpiName,
    OnLab,
    Provider,
    Ranks,
    Root,
    Seed,
)
from stretto.launch.lab import DEFAULT_NAME
from stretto.results.runs import BLOCKING, FORMS, NON_BLOCKING, EndedError, Run, summarize
from stretto.spec.collectives import COLLECTIVES
from stretto.support.console import console_for
from stretto.support.errors import StrettoError, WrongResultError
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.machine_load import LoadWatch
from stretto.support.units import format_bytes, parse_rate, parse_seconds, parse_sizes


def bench(
    collective: Annotated[str, typer.Argument(help=f"What to measure: {', '.join(COLLECTIVES)}.")],
    launch: LauncherLine = None,
    specs: Annotated[
        str,
        typer.Option(
            help="Ways to carry it out, with commas between: 'native,auto,smp(ring):segments=4'. "
            "'native(ring)' is the MPI library's own algorithm of that name."
        ),
    ] = "native,auto",
    forms: Annotated[
        str,
        typer.Option(
            help="How each spec is called, with commas between: blocking, non-blocking (start and MPI_Wait), "
            "persistent (MPI_Start and MPI_Wait). blocking unless given; with --overlap, non-blocking.",
            show_default=False,
        ),
    ] = "",
    overlap: Annotated[
        bool, typer.Option("--overlap", help="Measure how much of the calls a computation hides.")
    ] = False,
    test_every: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --overlap, call MPI_Test every so often: 1ms"),
    ] = None,
    sizes: Annotated[
        str,
        typer.Option(
            help="Message sizes: 64KiB,1MB or by powers of two 1KiB..64MiB or by four 1KiB..1GiB:4. "
            "A reduce_scatter's message is a rank's input, an allgather's a rank's output."
        ),
    ] = "1KiB..16MiB:4",
    root: Root = 0,
    in_place: Annotated[
        InPlace, typer.Option(help="Measure calls with MPI_IN_PLACE. bcast has none.")
    ] = InPlace.NO,
    element: Element = ElementType.FLOAT,
    mpi_name: MpiName = None,
    ranks: Ranks = None,
    lab: OnLab = False,
    lab_name: LabName = DEFAULT_NAME,
    ppn: LabPpn = 1,
    provider: Provider = "ucx",
    link_rate: LinkRate = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Least number of repetitions.")] = 10,
    min_seconds: Annotated[float, typer.Option(min=0, help="Repeat each size for so long or longer.")] = 0.0,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="End a size after so long, but not before 5 repetitions.")
    ] = 30.0,
    warmup: Annotated[int, typer.Option(min=0, help="Calls of each spec before measuring.")] = 3,
    seed: Seed = 1,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write samples and figures here.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write a line per result here.")] = None,
    png_file: Annotated[
        Path | None, typer.Option("--png", help="Draw throughput, or overlap, over size here.")
    ] = None,
) -> None:
    """Measure a collective by several specs, interleaved in one run, and check every result."""
    what = find_collective(collective)
    check_call(what, root, in_place)
    place = Place(launch or [], mpi_name, ranks, lab_name if lab else None, provider, ppn)
    if test_every and not overlap:
        raise StrettoError("--test-every is for --overlap")
    arguments = [
        "--collective", collective,
        "--specs", ",".join(parse_specs(specs, what)),
        "--sizes", ",".join(map(str, parse_sizes(sizes))),
        "--in-place", in_place.value,
        "--root", str(root),
        "--type", element.value,
        "--repetitions", str(repetitions),
        "--min-seconds", str(min_seconds),
        "--max-seconds", str(max_seconds),
        "--warmup", str(warmup),
        "--seed", str(seed),
        "--forms", ",".join(_parse_forms(forms or (NON_BLOCKING if overlap else BLOCKING), overlap)),
        "--overlap", "yes" if overlap else "no",
        "--test-every", str(parse_seconds(test_every) if test_every else 0),
    ]  # fmt: skip
    rate = parse_rate(link_rate) if link_rate else None
    outputs = Outputs(json_file, csv_file, png_file)
    target = find_target(place)
    run = Run()
    watch = LoadWatch()

    def finish(incomplete: str = "") -> None:
        load = watch.look(run.ranks if run.nodes == 1 or target.rate is not None else None)
        outcome = Outcome(run, link_bound(run, target, rate), load, incomplete)
        _report(outcome, target.rate is not None, outputs)

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


def _parse_forms(text: str, overlap: bool) -> list[str]:
    forms = list(dict.fromkeys(form.strip() for form in text.split(",")))
    for form in forms:
        if form not in FORMS:
            raise StrettoError(f"--forms {text}: expected some of {', '.join(FORMS)}, with commas between")
    if overlap and BLOCKING in forms:
        raise StrettoError("--overlap: nothing overlaps with a blocking call; expected other --forms")
    return forms


def _report(outcome: Outcome, emulated: bool, outputs: Outputs) -> None:
    run, bound, incomplete = outcome.run, outcome.bound, outcome.incomplete
    rows = summarize(run, bound)
    table = results_table(rows)
    console = console_for(table)
    console.print(table)
    for line in notes(run, bound, emulated):
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
    busy = outcome.load.remarks(crowded=False) if outcome.load else []
    for line in [*busy, *([incomplete] if incomplete else [])]:
        console.print(f"! {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    outputs.write(outcome, rows)
    if incomplete:
        for file in outputs.named():
            console.print(f"written to {file}", style="dim", markup=False, highlight=False, soft_wrap=True)
    wrong = [series for series in run.series if not series.correct]
    if wrong:
        what = [
            f"{series.label} at {format_bytes(series.bytes)}{' in place' if series.in_place else ''}"
            for series in wrong
        ]
        raise WrongResultError(f"WRONG RESULTS of {', '.join(what)}")
