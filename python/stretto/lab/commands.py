# SPDX-License-Identifier: Apache-2.0
"""What the commands of `stretto lab` do and print."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from stretto.lab import jobs
from stretto.lab.cluster import Lab, namespace_processes
from stretto.launch import mpi
from stretto.launch.settings.library import settings_for_launch
from stretto.support.errors import StrettoError


def up(name: str, nodes: int, rate: str) -> None:
    """Make the lab, and print whether it was made or was up already."""
    made = Lab(name).up(nodes, rate)
    print(f"a lab of {nodes} nodes at {rate} is up" + ("" if made else " already"))


def down(name: str) -> None:
    """Remove the lab, and all labs whose owner was killed, and print which were removed."""
    was_up = Lab(name).down()
    for other in Lab.all():
        state = other.state()
        if state is not None and state.abandoned:
            other.down()
            print(f"the lab {other.name}, left behind by a process that was killed, is down")
    if was_up:
        print("the lab is down")
    else:
        print(Lab.others_text(f"no lab {name} was up", name) or "no lab was up")


def status() -> None:
    """Print a line for each lab that is up: its nodes, links and processes."""
    labs = [(lab.name, state) for lab in Lab.all() if (state := lab.state()) is not None]
    if not labs:
        print("no lab is up")
    for name, state in labs:
        running = sum(1 for _ in namespace_processes(state.namespaces))
        what = "incomplete; remove it: stretto lab down" if state.abandoned else f"{running} processes in it"
        print(f"{name}: {state.nodes} nodes at {state.rate}, {what}")


def run(name: str, mpi_name: str, job: jobs.Job) -> int:
    """Run a job on the lab, and return its exit status. With Stretto, the tuning table in force applies."""
    lab = Lab(name)
    lab.require()
    install = mpi.find_install(mpi_name)
    if job.stretto or job.specs:
        settings = settings_for_launch(install.launcher, os.environ)
        job = replace(job, variables=settings | dict(job.variables))
    return jobs.run(lab, install, job)


def parse_variables(settings: Sequence[str]) -> dict[str, str]:
    """The variables of `--env NAME=VALUE`."""
    variables: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise StrettoError(f"--env {setting}: write NAME=VALUE")
        variables[key] = value
    return variables
