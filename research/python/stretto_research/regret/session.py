# SPDX-License-Identifier: Apache-2.0
"""One run of `stretto regret`: networks that are up in turn, and a file that keeps each job at once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stretto.bench.targets import Place, Target, find_target
from stretto.lab.cluster import Lab, check_machine
from stretto.support.errors import StrettoError
from stretto.support.files import write_atomically
from stretto_research.regret.figures import Job
from stretto_research.regret.file import Request, read_jobs, regret_text
from stretto_research.regret.libraries import Library
from stretto_research.regret.measure import Plan, Report, measure_job
from stretto_research.regret.networks import Network

LAB_NAME = "stretto-regret"


class Progress(Protocol):
    """Shows how far the run has come."""

    def next_job(self, name: str) -> Report:
        """Show that a job begins, and return the function to which its steps are reported."""


@dataclass(frozen=True)
class Wanted:
    """All jobs that are asked for."""

    networks: Sequence[Network]
    libraries: Sequence[Library]
    collectives: Sequence[str]

    def jobs(self) -> Iterator[tuple[Network, Library, Job]]:
        """Yields the jobs, those of one network after the other, without results."""
        for network in self.networks:
            for library in self.libraries:
                for collective in self.collectives:
                    yield network, library, Job(network.name, library.name, collective)


@dataclass
class Record:
    """The jobs so far, those of earlier runs included, and their file."""

    request: Request
    file: Path | None = None
    """None if they are not kept."""
    jobs: list[Job] = field(default_factory=list)

    def add(self, job: Job) -> None:
        """Add a job, in place of an earlier try, and write the file."""
        self.jobs = [one for one in self.jobs if one.key != job.key] + [job]
        if self.file is not None:
            write_atomically(self.file, regret_text(self.jobs, self.request, sys.argv))

    def of(self, wanted: Wanted) -> list[Job]:
        """The jobs so far that are asked for, in the order of `wanted`."""
        found = {job.key: job for job in self.jobs}
        return [found[job.key] for _, _, job in wanted.jobs() if job.key in found]

    def missing(self, wanted: Wanted) -> list[tuple[Network, Library, Job]]:
        """The jobs that are asked for and have not been completed."""
        ended = {job.key for job in self.jobs if not job.error}
        return [(network, library, job) for network, library, job in wanted.jobs() if job.key not in ended]


def open_record(file: Path | None, request: Request, *, resume: bool) -> Record:
    """The record of a file that may exist. Raises StrettoError if it was measured for another request."""
    if file is None or not resume or not file.is_file() or not file.stat().st_size:
        return Record(request, file)
    before, jobs = read_jobs(file)
    different = [key for key, value in request.items() if before.get(key) != value]
    if different:
        raise StrettoError(
            f"{file} was measured with other {' and '.join(different)}; "
            "give the same, or another file, or --fresh to replace it"
        )
    return Record(request, file, jobs)


def measure_all(record: Record, wanted: Wanted, plan: Plan, progress: Progress) -> None:
    """Measure all jobs that are missing, and add them to the record. A job that fails is added, too."""
    missing = record.missing(wanted)
    if any(network.links is not None for network, _, _ in missing):
        check_machine()
    for network in dict.fromkeys(network for network, _, _ in missing):
        with _place(network) as find:
            for library, job in ((library, job) for where, library, job in missing if where == network):
                report = progress.next_job(job.title)
                record.add(measure_job(job, find(library), plan, library.variables, report))


@contextlib.contextmanager
def _place(network: Network) -> Iterator[Callable[[Library], Target]]:
    """Make the network for the length of the block, which gets a function that finds a library's target."""
    if network.links is None:
        yield lambda library: find_target(Place([], library.mpi_name, ranks=network.ppn), may_lack_mpi=True)
        return
    with Lab.temporary(network.links, LAB_NAME):
        yield lambda library: find_target(
            Place(
                [],
                library.mpi_name,
                lab_name=LAB_NAME,
                provider=library.provider or "ucx",
                ppn=network.ppn,
            ),
            may_lack_mpi=True,
        )


def failures(jobs: Iterable[Job]) -> list[Job]:
    """The jobs that ended early."""
    return [job for job in jobs if job.error]
