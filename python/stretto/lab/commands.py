# SPDX-License-Identifier: Apache-2.0
"""What the commands of `stretto lab` do and print."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace

from stretto.lab import jobs
from stretto.lab.cluster import Lab, namespace_processes
from stretto.lab.links import Links
from stretto.launch import mpi
from stretto.launch.settings.library import settings_for_launch
from stretto.support.errors import StrettoError


def up(name: str, links: Links) -> None:
    """Make the lab, and print whether it was made or was up already."""
    made = Lab(name).up(links)
    print(f"a lab of {links} is up" + ("" if made else " already"))


def change(name: str, rate: str | None, nodes: Sequence[int], uplink: str | None) -> None:
    """Give links of a lab that is up other rates, and print all of them."""
    print(f"the lab has {Lab(name).change(rate, nodes, uplink)} now")


def down(name: str) -> None:
    """Remove the lab, and all labs whose owner was killed, and print which were removed."""
    was_up = Lab(name).down()
    for other in Lab.all():
        # A state that cannot be read is an error only if that lab is named.
        with contextlib.suppress(StrettoError):
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
    lines = [line for lab in Lab.all() if (line := _status_of(lab))]
    for line in lines or ["no lab is up"]:
        print(line)


def _status_of(lab: Lab) -> str | None:
    try:
        state = lab.state()
    except StrettoError as error:
        return f"{lab.name}: {error}"
    if state is None:
        return None
    running = sum(1 for _ in namespace_processes(state.namespaces))
    what = "incomplete; remove it: stretto lab down" if state.abandoned else f"{running} processes in it"
    return f"{lab.name}: {state.links}, {what}"


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
