# SPDX-License-Identifier: Apache-2.0
"""Where a benchmark runs: on this machine, on the lab, or by a launcher that the user gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from stretto import lab_jobs, launch, mpi, paths
from stretto.bench_collectives import COLLECTIVES, LinkBound
from stretto.errors import StrettoError
from stretto.lab import Lab
from stretto.results import Run, read_events
from stretto.units import parse_rate

# These would change what is measured behind the back of --specs.
_CHOICE_VARIABLES = (
    *dict.fromkeys(f"STRETTO_{one.algorithms.upper()}" for one in COLLECTIVES.values()),
    "STRETTO_DISABLE",
    "STRETTO_REPRODUCIBLE",
    "STRETTO_TOPOLOGY",
)
# After its last result a program may take this long to end. MPICH 4.0.2 now and then never ends.
_END_SECONDS = 20

Process = subprocess.Popen[str]


@dataclass(frozen=True)
class Target:
    """Where to measure."""

    abi: str
    start: Callable[[list[str]], AbstractContextManager[Process]]
    """Starts a program there, output piped; none of it outlives the block."""
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
    return Target(
        install.flavor.abi, lambda program: _child([*command, *program], environment), flavor=install.flavor
    )


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
    return Target(abi, lambda program: _child([*launch, *program], {}))


def lab_target(lab_name: str, mpi_name: str, provider: str, ppn: int, ranks: int | None) -> Target:
    """The emulated cluster that is up."""
    lab = Lab(lab_name)
    rate = parse_rate(lab.require().rate)
    install = mpi.find_install(mpi_name)

    def start(program: list[str]) -> AbstractContextManager[Process]:
        # Open MPI hands the environment to no other node.
        variables = launch.settings(os.environ)
        job = lab_jobs.Job(program, ppn=ppn, np=ranks, provider=provider, variables=variables)
        return lab_jobs.start(lab, install, job, stdout=subprocess.PIPE)

    return Target(install.flavor.abi, start, rate, install.flavor)


def link_bound(run: Run, target: Target, rate: float | None) -> LinkBound | None:
    """What the links allow where the run was: by the rate that is known of them, in bytes per second."""
    if run.nodes < 2:
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
    """Run the measuring program there and read its results, into a run that is given if there is one."""
    program = [str(paths.bench_program(target.abi)), *arguments]
    with _without_choice(), target.start(program) as process:
        if process.stdout is None:
            raise RuntimeError("a target must pipe its output")
        run = read_events(process.stdout, progress, into)
        _check_library(run, target)
        try:
            status = process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            print("stretto: all results are in, but the MPI library did not end: stopped it", file=sys.stderr)
            return run
    if status != 0 and all(series.correct for series in run.series):
        raise StrettoError(f"the launcher ended with status {status}, though all results are right")
    return run


def _check_library(run: Run, target: Target) -> None:
    """Refuse figures of one library under the name of another: Debian's may be found first."""
    if target.flavor is not None and not target.flavor.made(run.library):
        raise StrettoError(
            f"asked for {target.flavor.label}, but the measuring program found {run.library}; "
            f"its folder needs the library under the name that {paths.bench_program(target.abi).name} "
            "was linked to (make build makes such links in .mpi/)"
        )


@contextmanager
def _without_choice() -> Iterator[None]:
    removed = {name: os.environ.pop(name) for name in _CHOICE_VARIABLES if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(removed)


@contextmanager
def _child(command: list[str], environment: dict[str, str]) -> Iterator[Process]:
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
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
