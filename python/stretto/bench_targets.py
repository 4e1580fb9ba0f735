# SPDX-License-Identifier: Apache-2.0
"""Where a benchmark runs: on this machine, on the lab, or by a launcher that the user gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from stretto import lab_jobs, launch, mpi, paths
from stretto.bench_collectives import COLLECTIVES
from stretto.errors import StrettoError
from stretto.lab import Lab
from stretto.native_specs import NATIVE
from stretto.results import Run, read_events
from stretto.units import parse_rate

# These would change what is measured behind the back of --specs.
_CHOICE_VARIABLES = (
    *dict.fromkeys(f"STRETTO_{one.algorithms.upper()}" for one in COLLECTIVES.values()),
    "STRETTO_DISABLE",
    "STRETTO_ONLINE",
    "STRETTO_REPRODUCIBLE",
    "STRETTO_TOPOLOGY",
)
# After its last result a program may take this long to end. MPICH 4.0.2 now and then never ends.
_END_SECONDS = 20

# Without it Open MPI 4 heeds no choice among its own algorithms (src/bench/library_algorithms.cpp).
OPEN_MPI_CHOICE = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}

Process = subprocess.Popen[str]


class Starter(Protocol):
    """Starts a program, output piped; none of it outlives the block."""

    def __call__(
        self, program: list[str], stdin: int = subprocess.DEVNULL
    ) -> AbstractContextManager[Process]:
        """`stdin`: as for subprocess; only rank 0 reads it."""


@dataclass(frozen=True)
class Target:
    """Where to measure."""

    abi: str
    start: Starter
    rate: float | None = None
    """Bytes per second of the lab's links."""
    flavor: mpi.Flavor | None = None
    """The MPI that must answer, where one was asked for."""


def local_target(name: str, ranks: int) -> Target:
    """Ranks on this machine, by the MPI of that name."""
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
        return _child([*command, *program], environment, stdin)

    return Target(install.flavor.abi, start, flavor=install.flavor)


def own_target(launch: list[str], name: str | None) -> Target:
    """The launcher and the options that the user gave."""
    if name is not None:
        flavors = {flavor.value: flavor for flavor in mpi.Flavor}
        if name not in flavors:
            raise StrettoError(f"--mpi {name}: there is no such MPI; choose from {', '.join(flavors)}")
        abi = flavors[name].abi
    else:
        launcher = mpi.identify(launch[0])
        if launcher is None:
            raise StrettoError(f"{launch[0]}: which MPI this starts is not known; say so, e.g. --mpi openmpi")
        abi = launcher.flavor.abi

    def start(program: list[str], stdin: int = subprocess.DEVNULL) -> AbstractContextManager[Process]:
        return _child([*launch, *program], {}, stdin)

    return Target(abi, start)


def lab_target(lab_name: str, mpi_name: str, provider: str, ppn: int, ranks: int | None) -> Target:
    """The emulated cluster that is up."""
    lab = Lab(lab_name)
    rate = parse_rate(lab.require().rate)
    install = mpi.find_install(mpi_name)

    def start(program: list[str], stdin: int = subprocess.DEVNULL) -> AbstractContextManager[Process]:
        # Open MPI hands the environment to no other node.
        variables = launch.settings(os.environ)
        job = lab_jobs.Job(program, ppn=ppn, np=ranks, provider=provider, variables=variables)
        return lab_jobs.start(lab, install, job, stdin=stdin, stdout=subprocess.PIPE)

    return Target(install.flavor.abi, start, rate, install.flavor)


def measure(target: Target, arguments: list[str], progress: Callable[[float, float], None]) -> Run:
    """Run the measuring program there and read its results."""
    program = [str(paths.bench_program(target.abi)), *arguments]
    by_name = any(f"{NATIVE}(" in argument for argument in arguments)
    variables = OPEN_MPI_CHOICE if by_name and target.abi == "openmpi" else {}
    with measuring_environment(variables), target.start(program) as process:
        if process.stdout is None:
            raise RuntimeError("a target must pipe its output")
        run = read_events(process.stdout, progress)
        check_library(run.library, target)
        try:
            status = process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            print("stretto: all results are in, but the MPI library did not end: stopped it", file=sys.stderr)
            return run
    if status != 0 and all(series.correct for series in run.series):
        raise StrettoError(f"the launcher ended with status {status}, though all results are right")
    return run


def check_library(library: str, target: Target) -> None:
    """Refuse figures of one library under the name of another: Debian's may be found first."""
    if target.flavor is not None and not target.flavor.made(library):
        raise StrettoError(
            f"asked for {target.flavor.label}, but the measuring program found {library}; "
            f"its folder needs the library under the name that {paths.bench_program(target.abi).name} "
            "was linked to (make build makes such links in .mpi/)"
        )


@contextmanager
def measuring_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Our environment as a measuring program is to find it: no choice but that of its specs."""
    changes: dict[str, str | None] = dict.fromkeys(_CHOICE_VARIABLES) | dict(variables)
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


@contextmanager
def _child(command: list[str], environment: dict[str, str], stdin: int) -> Iterator[Process]:
    try:
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            env=os.environ | environment,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise StrettoError(f"{command[0]} could not be started: {error.strerror}") from None
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()  # launchers end their ranks when they are asked to
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
