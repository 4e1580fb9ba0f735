# SPDX-License-Identifier: Apache-2.0
"""`stretto study`: the papers' study on the cluster at hand, and the performance guidelines."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from stretto.bench.targets import Place, Target, find_target
from stretto.cli.options import LabName, LabPpn, LinkRate, OnLab, Provider, Ranks, Seed
from stretto.cli.program import program_of
from stretto.lab.cluster import DEFAULT_NAME, Lab
from stretto.spec.collectives import COLLECTIVES, Collective
from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE
from stretto.study import file as study_file
from stretto.study import guidelines_file, guidelines_table
from stretto.study import table as study_table
from stretto.study.figures import write_figures
from stretto.study.file import Study, StudyRun, write_study
from stretto.study.guidelines import check, mockups
from stretto.study.guidelines_file import Guidelines, LibraryChecks, write_guidelines
from stretto.study.runs import (
    Clock,
    Settings,
    arguments_for,
    display,
    library_algorithms,
    measure_launches,
    measure_run,
    probe,
)
from stretto.study.specs import candidates, read_specs
from stretto.support.console import console_for
from stretto.support.errors import StrettoError
from stretto.support.files import make_folder
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.units import parse_rate, parse_seconds, parse_sizes

Targets = Sequence[tuple[str, Callable[[], Target]]]


def study(
    context: typer.Context,
    collective: Annotated[
        str | None,
        typer.Argument(
            help=f"What to study, allreduce unless given; with --guidelines all: {', '.join(COLLECTIVES)}.",
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
            help="With commas between: openmpi, openmpi5, mpich, mpich5, intelmpi.",
        ),
    ] = None,
    ranks: Ranks = None,
    ppn: LabPpn = 1,
    provider: Provider = "ucx",
    sizes: Annotated[
        str, typer.Option(help="Message sizes: 64KiB,1MB or 1KiB..64MiB or by four 1KiB..1GiB:4.")
    ] = "1KiB..16MiB:4",
    specs: Annotated[
        str | None, typer.Option(help="Ways of Stretto's own to compare, in place of the usual ones.")
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="About how long all of it may take: 10m")
    ] = "10m",
    repetitions: Annotated[int, typer.Option(min=5, help="At most so many repetitions of each.")] = 15,
    link_rate: LinkRate = None,
    seed: Seed = 1,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where figures and JSON go.")
    ] = Path("study"),
) -> None:
    """Compare the MPI default, BEST, pipelined calls and Stretto, in one or several MPI libraries."""
    chosen = _collectives(collective, guidelines)
    settings = Settings(parse_sizes(sizes), repetitions, seed, parse_rate(link_rate) if link_rate else None)
    if specs and guidelines:
        raise StrettoError("--specs: guidelines are checked of what the library and Stretto do by themselves")
    own = read_specs(specs, chosen[0].algorithms) if specs else []
    clock = Clock(parse_seconds(budget))
    names = [name.strip() for name in mpi_names.split(",")] if mpi_names else None
    place = Place(program_of(context), None, ranks, lab_name if lab else None, provider, ppn)
    targets = _targets(place, names)
    where = _where(place)
    make_folder(output)
    compared, checked = Study(where), Guidelines(where)
    try:
        if guidelines:
            _check_guidelines(targets, chosen, settings, clock, checked, output)
        else:
            _compare(targets, chosen[0], own, settings, clock, compared, output)
    except INTERRUPTIONS as ended:
        name = guidelines_file.NAME if checked.libraries else study_file.NAME
        any_results = compared.runs or checked.libraries
        kept = f"what was measured is in {output / name}" if any_results else "nothing was written"
        print(f"stretto: {signal_of(ended).name} came before the end: {kept}", file=sys.stderr)
        raise


def _collectives(name: str | None, guidelines: bool) -> list[Collective]:
    if name is None:
        return list(COLLECTIVES.values()) if guidelines else [COLLECTIVES["allreduce"]]
    if name not in COLLECTIVES:
        raise StrettoError(f"{name}: the collectives that can be studied are {', '.join(COLLECTIVES)}")
    return [COLLECTIVES[name]]


def _targets(place: Place, names: list[str] | None) -> Targets:
    """The name of each library, and a function that finds its target. A library may prove to be missing."""
    if place.launcher:
        if names and len(names) > 1:
            raise StrettoError(
                f"--mpi {','.join(names)}: a launcher belongs to one MPI; give one name, or none"
            )
        name = names[0] if names else None
        find = functools.partial(find_target, replace(place, mpi_name=name))
        return [(name or Path(place.launcher[0]).name, find)]
    if place.lab_name is not None:
        Lab(place.lab_name).require()
    return [
        (name, functools.partial(find_target, replace(place, mpi_name=name))) for name in names or ["openmpi"]
    ]


def _where(place: Place) -> str:
    if place.launcher:
        return f"started by {shlex.join(place.launcher)}"
    if place.lab_name is not None:
        state = Lab(place.lab_name).require()
        return f"emulated cluster of {state.nodes} nodes, links of {state.rate}"
    return "on one machine"


def _compare(
    targets: Targets,
    collective: Collective,
    own: list[str],
    settings: Settings,
    clock: Clock,
    found: Study,
    output: Path,
) -> None:
    def keep(run: StudyRun) -> None:
        found.runs.append(run)
        write_study(found, output, sys.argv)

    with display(clock, len(targets)) as bar:
        for number, (name, find) in enumerate(targets):
            report = bar.next_job(name)
            try:
                target = find()
                ready = probe(target)
                named = library_algorithms(ready, collective)
                specs = candidates(collective.algorithms, ready.ppn, named, own)
                seconds = clock.share(len(targets) - number)
                apart = seconds / 2 if ready.by_launch else 0.0
                measure_run(
                    target,
                    arguments_for(collective, specs, settings, seconds - apart),
                    settings,
                    report,
                    keep,
                    functools.partial(measure_launches, target, collective, ready, settings, apart),
                )
            except StrettoError as error:
                if len(targets) == 1:
                    raise
                found.failed.append((name, str(error)))
    if not found.runs:
        raise StrettoError("; ".join(f"{name}: {error}" for name, error in found.failed))
    file = write_study(found, output, sys.argv)
    _print_study(found)
    for written in [file, *write_figures(found.runs, output)]:
        print(written)
    if found.failed or any(run.incomplete for run in found.runs):
        raise typer.Exit(1)


def _print_study(found: Study) -> None:
    tables = [study_table.gains_table(run) for run in found.runs if run.sizes]
    if len(found.runs) > 1:
        tables.append(study_table.ranking_table(found.runs))
    console = console_for(*tables)
    for table in tables:
        console.print(table)
    for line in study_table.notes(found):
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _check_guidelines(
    targets: Targets,
    collectives: list[Collective],
    settings: Settings,
    clock: Clock,
    found: Guidelines,
    output: Path,
) -> None:
    complaints = []
    jobs = len(targets) * len(collectives)
    with display(clock, jobs) as bar:
        for number, (name, find) in enumerate(targets):
            library: LibraryChecks | None = None
            for place, collective in enumerate(collectives):
                report = bar.next_job(f"{name} {collective.name}")

                def keep(run: StudyRun) -> None:
                    nonlocal library
                    if library is None:
                        one = run.run
                        library = LibraryChecks(one.library, one.ranks, one.nodes, one.ppn, one.type)
                        found.libraries.append(library)
                    library.checks += check(run.run)
                    write_guidelines(found, output, sys.argv)

                try:
                    seconds = clock.share(jobs - number * len(collectives) - place)
                    arguments = arguments_for(collective, [NATIVE, STRETTO], settings, seconds)
                    arguments += ["--mockups", ",".join(mockups(collective.name))]
                    measure_run(find(), arguments, settings, report, keep)
                except StrettoError as error:
                    complaints.append(f"{name} {collective.name}: {error}")
    if not found.libraries:
        raise StrettoError("; ".join(complaints))
    tables = [table for library in found.libraries for table in guidelines_table.tables(library)]
    console = console_for(*tables)
    for table in tables:
        console.print(table)
    for line in [*guidelines_table.notes(found), *complaints]:
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
    print(write_guidelines(found, output, sys.argv))
    if complaints:
        raise typer.Exit(1)
