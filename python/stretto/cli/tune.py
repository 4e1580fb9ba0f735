# SPDX-License-Identifier: Apache-2.0
"""`stretto tune`: measure a cluster within a given time, and write down which spec is best at which size."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stretto.bench.options import ElementType, check_forms_without_library
from stretto.bench.targets import Place, find_target
from stretto.cli.completion import complete_collectives
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
)
from stretto.cli.result_options import AsJson
from stretto.lab.cluster import DEFAULT_NAME
from stretto.results.runs import BLOCKING, FORMS, NON_BLOCKING
from stretto.spec.recipes import check_sized, sized_collectives
from stretto.support.console import print_result
from stretto.support.errors import StrettoError
from stretto.support.files import check_files
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.units import parse_rate, parse_seconds, parse_sizes
from stretto.tune.findings import CallKind
from stretto.tune.output import ProgressDisplay, print_summary, tuning_json
from stretto.tune.session import Settings, Tuning


def tune(
    launch: LauncherLine = None,
    collectives: Annotated[
        str,
        typer.Option(
            help=f"Comma-separated list of {', '.join(sized_collectives())}.",
            autocompletion=complete_collectives,
        ),
    ] = "allreduce",
    forms: Annotated[
        str,
        typer.Option(
            help="Comma-separated list of blocking, non-blocking and persistent. Default: blocking; with "
            "--mpi sockets, non-blocking: all calls of jobs without MPI are.",
            show_default=False,
        ),
    ] = "",
    budget: Annotated[str, typer.Option(metavar="TIME", help="Time for the whole tuning: 5m, 90s.")] = "5m",
    sizes: Annotated[
        str,
        typer.Option(help="Message sizes to start with, as in stretto bench; break points lie between."),
    ] = "64..16MiB:4",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Table to write; the default is where the library looks for it.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume/--fresh", help="Continue an interrupted tuning, or start anew."),
    ] = True,
    machine: Annotated[
        str | None,
        typer.Option(help="Machine (stretto calibrate, stretto predict) that predicts what to try first."),
    ] = None,
    network: Annotated[
        str, typer.Option(help="Name of the network, written into the table.", show_default=False)
    ] = "",
    element: Element = ElementType.FLOAT,
    mpi_name: MpiName = None,
    ranks: Ranks = None,
    lab: OnLab = False,
    lab_name: LabName = DEFAULT_NAME,
    ppn: LabPpn = 1,
    provider: Provider = "ucx",
    link_rate: LinkRate = None,
    as_json: AsJson = False,
) -> None:
    """Measure which spec is fastest at which size, compared with the MPI default, and write a table."""
    place = Place(launch or [], mpi_name, ranks, lab_name if lab else None, provider, ppn)
    kinds = parse_kinds(collectives, forms or (BLOCKING if place.has_library else NON_BLOCKING))
    if not place.has_library:
        check_forms_without_library([kind.form for kind in kinds])
    settings = Settings(
        kinds, parse_sizes(sizes), parse_seconds(budget), element.value, network,
        machine, output, resume,
    )  # fmt: skip
    rate = parse_rate(link_rate) if link_rate else None
    check_files([output])
    target = find_target(place, may_lack_mpi=True)
    if target.links is not None and not network:
        settings = replace(settings, network=f"tcp {target.links.rates_text}")
    with ProgressDisplay(settings.budget) as display:
        tuning = Tuning(settings, target, display)
        try:
            tuning.run()
        except INTERRUPTIONS as ended:
            kept = f"{tuning.path} has what was decided so far, and " if tuning.has_choices() else ""
            print(
                f"stretto: {signal_of(ended).name} ended the tuning early: {kept}the same command continues "
                "from here",
                file=sys.stderr,
            )
            raise
    # Without choices a failure says why, and there is nothing to print.
    if tuning.has_choices():
        print_result(as_json, lambda: tuning_json(tuning, rate), lambda: print_summary(tuning, rate))
    if tuning.failure is not None:
        raise tuning.failure


def parse_kinds(collectives: str, forms: str) -> list[CallKind]:
    """The kinds of calls that --collectives and --forms name."""
    named_forms = list(dict.fromkeys(form.strip() for form in forms.split(",")))
    for form in named_forms:
        if form not in FORMS:
            raise StrettoError(f"--forms {forms}: expected some of {', '.join(FORMS)}, with commas between")
    named = list(dict.fromkeys(check_sized(one.strip()) for one in collectives.split(",")))
    return [CallKind(collective, form) for collective in named for form in named_forms]
