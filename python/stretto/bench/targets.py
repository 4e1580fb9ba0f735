# SPDX-License-Identifier: Apache-2.0
"""The places where benchmarks run: this machine, the lab, or under the user's launcher."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from stretto.lab import jobs as lab_jobs
from stretto.lab.cluster import Lab, interface_to
from stretto.lab.links import Links
from stretto.launch import jobs, mpi
from stretto.launch.jobs import Process
from stretto.launch.run import build_command, check_root, find_start, stretto_variables
from stretto.launch.settings.tables import table_in_force
from stretto.results.runs import Run, read_events
from stretto.sockets.commands import ranks_command, torchrun_command
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.spec.native import NATIVE, SOCKETS
from stretto.support import paths
from stretto.support.errors import StrettoError

# Variables that would change what --specs measures.
_CHOICE_VARIABLES = (
    *dict.fromkeys(f"STRETTO_{one.algorithms.upper()}" for one in COLLECTIVES.values()),
    "STRETTO_DISABLE",
    "STRETTO_REPRODUCIBLE",
    "STRETTO_TOPOLOGY",
)
# The time for the program to end after its last result. MPICH 4.0.2 sometimes hangs.
_END_SECONDS = 20

# Without this, Open MPI 4 ignores a choice among its own algorithms
# (src/bench/library/library_algorithms.cpp).
OPEN_MPI_CHOICE = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}


class Starter(Protocol):
    """Starts a program with piped output. All its processes end with the block."""

    def __call__(
        self, program: list[str], stdin: int = subprocess.DEVNULL
    ) -> AbstractContextManager[Process]:
        """Start it. `stdin`: as for subprocess; only rank 0 reads it."""


@dataclass(frozen=True)
class Target:
    """A place that can start the measuring program."""

    abi: str
    start: Starter
    rate: float | None = None
    """Bytes per second of the lab's links, if all are equal and only they limit the traffic."""
    flavor: mpi.Flavor | None = None
    """The MPI that ranks must have, if one was named."""
    links: Links | None = None
    """The links of the lab; None outside a lab, where nodes are machines of their own."""

    @property
    def has_library(self) -> bool:
        """Whether it has an MPI library, so that `native` exists."""
        return self.abi != SOCKETS


def local_target(name: str, ranks: int, *, preloaded: bool = False) -> Target:
    """The target of ranks on this machine, under the MPI with that name."""
    install = mpi.find_install(name)
    command = [str(install.launcher.path), "-np", str(ranks)]
    if install.flavor.abi == "openmpi":
        command.append("--oversubscribe")
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
    environment = install.environment()
    if install.flavor.abi == "openmpi" and "LD_LIBRARY_PATH" in environment:
        command += ["-x", "LD_LIBRARY_PATH"]

    def start(program: list[str], stdin: int = subprocess.DEVNULL) -> AbstractContextManager[Process]:
        return jobs.start(_full([*command, *program], preloaded), environment, stdin=stdin)

    return Target(install.flavor.abi, start, flavor=install.flavor)


def _full(command: list[str], preloaded: bool, mpi_name: str | None = None) -> list[str]:
    if not preloaded:
        return command
    # The MPI default must be measured as it is, whatever a tuning table makes the MPI library do.
    return build_command(command, os.environ, follow_table=False, mpi_name=mpi_name)


def own_target(launcher_line: list[str], name: str | None, *, preloaded: bool = False) -> Target:
    """The target of the user's launcher and its options."""
    check_root(launcher_line, os.environ)
    if name is not None:
        abi = mpi.find_flavor(name).abi
    else:
        its = find_start(launcher_line, os.environ)
        if its.launcher is None:
            raise StrettoError(f"{its.program}: its MPI library is not known; name it, e.g. --mpi openmpi")
        abi = its.launcher.flavor.abi

    def start(program: list[str], stdin: int = subprocess.DEVNULL) -> AbstractContextManager[Process]:
        return jobs.start(_full([*launcher_line, *program], preloaded, name), stdin=stdin)

    return Target(abi, start)


def lab_target(
    lab_name: str, mpi_name: str, provider: str, ppn: int, ranks: int | None, *, preloaded: bool = False
) -> Target:
    """The target of the emulated cluster that is up."""
    lab = Lab(lab_name)
    links = lab.require().links
    install = mpi.find_install(mpi_name)

    def start(program: list[str], stdin: int = subprocess.DEVNULL) -> AbstractContextManager[Process]:
        # Open MPI does not pass the environment on to other nodes.
        variables = stretto_variables(os.environ)
        job = lab_jobs.Job(
            program, ppn=ppn, np=ranks, provider=provider, stretto=preloaded, variables=variables
        )
        return lab_jobs.start(lab, install, job, stdin=stdin, stdout=subprocess.PIPE)

    return Target(install.flavor.abi, start, links.common_rate, install.flavor, links)


def sockets_target(place: Place, usual_ranks: int) -> Target:
    """The target of a job without MPI."""
    links = None
    environment: dict[str, str] = {}
    if place.launcher:

        def line(program: list[str]) -> list[str]:
            return torchrun_command(place.launcher, program)
    elif place.lab_name is not None:
        lab = Lab(place.lab_name)
        state = lab.require()
        links = state.links
        ranks = lab_jobs.Job([], ppn=place.ppn, np=place.ranks).ranks(len(state.hosts))
        environment["STRETTO_INTERFACE"] = ",".join(map(interface_to, range(links.rails)))
        prefixes = [lab.enter(state.hosts[rank // place.ppn], []) for rank in range(ranks)]

        def line(program: list[str]) -> list[str]:
            return ranks_command(prefixes, program)
    else:
        environment["MASTER_ADDR"] = "127.0.0.1"
        here: list[list[str]] = [[] for _ in range(place.ranks or usual_ranks)]

        def line(program: list[str]) -> list[str]:
            return ranks_command(here, program)

    def start(program: list[str], stdin: int = subprocess.DEVNULL) -> AbstractContextManager[Process]:
        return jobs.start(line(program), environment, stdin=stdin)

    return Target(SOCKETS, start, links.common_rate if links else None, links=links)


@dataclass(frozen=True)
class Place:
    """Where a job runs, by the options of a command: under the user's launcher, on the lab, or here."""

    launcher: list[str]
    """The user's own launcher with its options; empty for none."""
    mpi_name: str | None = None
    ranks: int | None = None
    lab_name: str | None = None
    """None if it does not run on a lab."""
    provider: str = "ucx"
    ppn: int = 1

    def __post_init__(self) -> None:
        if self.launcher and self.lab_name is not None:
            raise StrettoError("--lab brings its own launcher; give --lab or -- LAUNCHER, not both")

    @property
    def has_library(self) -> bool:
        """Whether jobs there have an MPI library."""
        return self.mpi_name != SOCKETS


def find_target(
    place: Place, *, preloaded: bool = False, usual_ranks: int = 2, may_lack_mpi: bool = False
) -> Target:
    """The target at that place, with `usual_ranks` on this machine if no number was given.

    `may_lack_mpi`: whether the command also measures jobs without MPI.
    """
    if not place.has_library:
        if not may_lack_mpi:
            raise StrettoError("--mpi sockets: jobs without MPI are for stretto bench, tune and regret only")
        return sockets_target(place, usual_ranks)
    if place.launcher and place.lab_name is None:
        return own_target(place.launcher, place.mpi_name, preloaded=preloaded)
    name = place.mpi_name or mpi.usual_name()
    if place.lab_name is not None:
        return lab_target(place.lab_name, name, place.provider, place.ppn, place.ranks, preloaded=preloaded)
    return local_target(name, place.ranks or usual_ranks, preloaded=preloaded)


def link_bound(run: Run, target: Target, rate: float | None) -> LinkBound | None:
    """The upper bound that the links set, if their rate is known, or None. `rate`: bytes per second."""
    if run.nodes < 2 or run.has_no_bound:
        return None
    if rate is not None:
        return LinkBound(rate, run.collective, run.ppn)
    return LinkBound.for_lab(target.rate, run.collective, run.ppn) if target.rate is not None else None


def measure(
    target: Target,
    arguments: list[str],
    progress: Callable[[float, float], None],
    into: Run | None = None,
) -> Run:
    """Run the measuring program there and return its results, in the given run if there is one."""
    run, status = observe(target, arguments, lambda lines: read_events(lines, progress, into))
    if status not in (0, None) and all(series.correct for series in run.series):
        raise StrettoError(f"the launcher ended with status {status}, though all results are right")
    return run


class Findings(Protocol):
    """Results of the measuring program, of any kind."""

    library: str
    """The text of MPI_Get_library_version."""


_Findings = TypeVar("_Findings", bound=Findings)


def _may_take_by_name(arguments: Iterable[str]) -> bool:
    """Whether the specs, or a tuning table, may name one of Open MPI's own algorithms."""
    words = [word for argument in arguments for word in argument.split(",")]
    if any(word.startswith(f"{NATIVE}(") for word in words):
        return True
    table = table_in_force("openmpi", os.environ) if "auto" in words else None
    return table is not None and table.is_file()


def observe(
    target: Target,
    arguments: list[str],
    read: Callable[[Iterable[str]], _Findings],
    most_seconds: float | None = None,
) -> tuple[_Findings, int | None]:
    """Run the measuring program there, and read its output by `read`.

    Returns what `read` returned and the launcher's exit status, or None if it did not end by itself. A run
    that takes more than `most_seconds` is ended, since a launcher may not notice that a rank is lost.
    """
    program = [str(paths.bench_program()), target.abi, *arguments]
    variables = OPEN_MPI_CHOICE if target.abi == "openmpi" and _may_take_by_name(arguments) else {}
    with (
        measuring_environment(variables),
        target.start(program) as process,
        _ended_after(most_seconds, process) as is_late,
    ):
        if process.stdout is None:
            raise RuntimeError("a target must pipe its output")
        try:
            found = read(process.stdout)
        except StrettoError:
            if not is_late():
                raise
            raise StrettoError(
                f"the measuring program did not end within {most_seconds:.0f} s and was stopped: "
                "a rank may be lost, or hang"
            ) from None
        check_library(found.library, target)
        try:
            return found, process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            print("stretto: all results are in, but the MPI library did not end: stopped it", file=sys.stderr)
            return found, None


@contextmanager
def _ended_after(seconds: float | None, process: Process) -> Iterator[Callable[[], bool]]:
    """End the process if the block takes longer. The block gets a function that tells whether it did."""
    late = threading.Event()
    if seconds is None:
        yield late.is_set
        return

    def end() -> None:
        late.set()
        process.terminate()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield late.is_set
    finally:
        timer.cancel()


def check_library(library: str, target: Target) -> None:
    """Raise StrettoError if ranks load another MPI library than the named one: Debian's may come first."""
    if target.flavor is not None and not target.flavor.made(library):
        raise StrettoError(
            f"asked for {target.flavor.label}, but the measuring program found {library}; "
            f"the folder of its {target.flavor.soname} must come first in LD_LIBRARY_PATH"
        )


@contextmanager
def measuring_environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set our environment for a measuring program: only its specs must choose algorithms.

    `auto` must be the choice of table and rule; the guard would mix it with the MPI default in the first
    calls.
    """
    fixed = {"STRETTO_ONLINE": "0"}
    changes: dict[str, str | None] = dict.fromkeys(_CHOICE_VARIABLES) | fixed | dict(variables)
    before = {name: os.environ.get(name) for name in changes}
    _set_environment(changes)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
