# SPDX-License-Identifier: Apache-2.0
"""`stretto study`: the papers' study on the cluster at hand, and the performance guidelines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stretto.bench.targets import Place
from stretto.cli.completion import complete_mpis, complete_specs
from stretto.cli.options import LabName, LabPpn, LinkRate, OnLab, Provider, Ranks, Seed
from stretto.cli.program import LauncherCommand, program_of
from stretto.cli.result_options import AsJson
from stretto.lab.cluster import DEFAULT_NAME
from stretto.spec.collectives import COLLECTIVES, Collective
from stretto.studies.figures import write_figures
from stretto.studies.file import STUDY_FILE, Study, study_text
from stretto.support.console import announce, print_result
from stretto.support.errors import StrettoError
from stretto.support.files import make_folder, write_atomically
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.units import parse_rate, parse_seconds, parse_sizes
from stretto_research.study.guidelines import STUDIED, USUAL
from stretto_research.study.guidelines_file import GUIDELINES_FILE, Guidelines, guidelines_text
from stretto_research.study.output import display, print_guidelines, print_study
from stretto_research.study.runs import Clock, Settings
from stretto_research.study.session import check_guidelines, compare, describe_place, find_targets
from stretto_research.study.specs import read_specs

COMMAND_CLASS = LauncherCommand


def study(
    context: typer.Context,
    collective: Annotated[
        str | None,
        typer.Argument(
            help=f"What to study: {', '.join(STUDIED)}. Default: "
            f"allreduce, or with --guidelines {', '.join(USUAL)}.",
            show_default=False,
        ),
    ] = None,
    guidelines: Annotated[
        bool, typer.Option("--guidelines", help="Check the self-consistent performance guidelines instead.")
    ] = False,
    lab: OnLab = False,
    lab_name: LabName = DEFAULT_NAME,
    mpi_names: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            metavar="NAMES",
            autocompletion=complete_mpis,
            help="Comma-separated list of openmpi, openmpi5, mpich, mpich5, intelmpi.",
        ),
    ] = None,
    ranks: Ranks = None,
    ppn: LabPpn = 1,
    provider: Provider = "ucx",
    sizes: Annotated[
        str, typer.Option(help="Message sizes: 64KiB,1MB or 1KiB..64MiB or, by a factor of 4, 1KiB..1GiB:4.")
    ] = "1KiB..16MiB:4",
    specs: Annotated[
        str | None,
        typer.Option(
            help="Stretto's specs to compare, in place of the usual ones.", autocompletion=complete_specs
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="Time for the whole study, approximately: 10m")
    ] = "10m",
    repetitions: Annotated[int, typer.Option(min=5, help="Most repetitions of each spec.")] = 15,
    link_rate: LinkRate = None,
    seed: Seed = 1,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for figures and JSON.")
    ] = Path("study"),
    as_json: AsJson = False,
) -> None:
    """Compare the MPI default, BEST, pipelined calls and Stretto, in one or several MPI libraries."""
    chosen = _collectives(collective, guidelines)
    settings = Settings(parse_sizes(sizes), repetitions, seed, parse_rate(link_rate) if link_rate else None)
    if specs and guidelines:
        raise StrettoError("--specs: --guidelines checks only what the MPI library and Stretto choose")
    own = read_specs(specs, chosen[0].algorithms) if specs else []
    clock = Clock(parse_seconds(budget))
    names = [name.strip() for name in mpi_names.split(",")] if mpi_names else None
    place = Place(program_of(context), None, ranks, lab_name if lab else None, provider, ppn)
    targets = find_targets(place, names)
    where = describe_place(place)
    make_folder(output)
    compared, checked = Study(where), Guidelines(where)
    file = output / (GUIDELINES_FILE if guidelines else STUDY_FILE)

    def document() -> str:
        return guidelines_text(checked, sys.argv) if guidelines else study_text(compared, sys.argv)

    def save() -> None:
        write_atomically(file, document())

    try:
        with display(clock, len(targets) * (len(chosen) if guidelines else 1)) as bar:
            if guidelines:
                failures = check_guidelines(targets, chosen, settings, clock, bar, checked, save)
            else:
                compare(targets, chosen[0], own, settings, clock, bar, compared, save)
                failures = compared.failures
        save()
        figures = write_figures(compared.runs, output)

        def show() -> None:
            if guidelines:
                print_guidelines(checked, failures)
            else:
                print_study(compared)
            announce(file, *figures)

        print_result(as_json, document, show)
    except INTERRUPTIONS as ended:
        any_results = compared.runs or checked.libraries
        kept = f"{file} has what was measured so far" if any_results else "nothing was written"
        print(f"stretto: {signal_of(ended).name} ended the study early: {kept}", file=sys.stderr)
        raise
    if failures:
        raise typer.Exit(1)


def _collectives(name: str | None, guidelines: bool) -> list[Collective]:
    if name is None:
        return [COLLECTIVES[one] for one in USUAL] if guidelines else [COLLECTIVES["allreduce"]]
    if name not in STUDIED:
        raise StrettoError(f"{name}: expected one of {', '.join(STUDIED)}")
    return [COLLECTIVES[name]]
