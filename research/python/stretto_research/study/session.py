# SPDX-License-Identifier: Apache-2.0
"""One run of `stretto study`: measures one MPI library after the other, and saves results as they come."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from stretto.bench.targets import Place, Target, find_target
from stretto.lab.cluster import Lab
from stretto.launch import mpi
from stretto.spec.collectives import Collective
from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE
from stretto.studies.file import Study, StudyRun
from stretto.support.errors import StrettoError
from stretto_research.study.guidelines import check, mockups
from stretto_research.study.guidelines_file import Guidelines, LibraryChecks
from stretto_research.study.runs import (
    Clock,
    Report,
    Settings,
    arguments_for,
    library_algorithms,
    measure_launches,
    measure_run,
    probe,
)
from stretto_research.study.specs import candidates

Targets = Sequence[tuple[str, Callable[[], Target]]]
"""The name of each MPI library, and a function that finds its target."""


class Progress(Protocol):
    """Shows how far a study has come."""

    def next_job(self, name: str) -> Report:
        """Show that a job begins. Returns the function to which its steps are reported."""


def find_targets(place: Place, names: list[str] | None) -> Targets:
    """Returns the targets to study. A missing library is an error only when its target is asked for."""
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
    names = names or [mpi.usual_name()]
    return [(name, functools.partial(find_target, replace(place, mpi_name=name))) for name in names]


def describe_place(place: Place) -> str:
    """Returns a text for people that says where the study runs."""
    if place.launcher:
        return f"started by {shlex.join(place.launcher)}"
    if place.lab_name is None:
        return "on one machine"
    state = Lab(place.lab_name).require()
    return f"emulated cluster of {state.links}"


def compare(
    targets: Targets,
    collective: Collective,
    own: list[str],
    settings: Settings,
    clock: Clock,
    progress: Progress,
    found: Study,
    save: Callable[[], None],
) -> None:
    """Measure all ways to carry out a collective, and add the runs to `found`; `save` is called after each.

    If there are several libraries, the failure of one is noted. Raises StrettoError if nothing could be
    measured.
    """

    def keep(run: StudyRun) -> None:
        found.runs.append(run)
        save()

    for number, (name, find) in enumerate(targets):
        report = progress.next_job(name)
        try:
            target = find()
            ready = probe(target)
            specs = candidates(collective.algorithms, ready.ppn, library_algorithms(ready, collective), own)
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


def check_guidelines(
    targets: Targets,
    collectives: list[Collective],
    settings: Settings,
    clock: Clock,
    progress: Progress,
    found: Guidelines,
    save: Callable[[], None],
) -> list[str]:
    """Measure both sides of all guidelines, and add the checks to `found`; `save` is called after each run.

    Returns a line for each failure. Raises StrettoError if nothing could be measured.
    """
    failures = []
    jobs = len(targets) * len(collectives)
    for number, (name, find) in enumerate(targets):
        library: LibraryChecks | None = None
        for place, collective in enumerate(collectives):
            report = progress.next_job(f"{name} {collective.name}")

            def keep(run: StudyRun) -> None:
                nonlocal library
                if library is None:
                    one = run.run
                    library = LibraryChecks(one.library, one.ranks, one.nodes, one.ppn, one.type)
                    found.libraries.append(library)
                library.checks += check(run.run)
                save()

            try:
                seconds = clock.share(jobs - number * len(collectives) - place)
                arguments = arguments_for(collective, [NATIVE, STRETTO], settings, seconds)
                arguments += ["--mockups", ",".join(mockups(collective.name))]
                measure_run(find(), arguments, settings, report, keep)
            except StrettoError as error:
                failures.append(f"{name} {collective.name}: {error}")
    if not found.libraries:
        raise StrettoError("; ".join(failures))
    return failures
