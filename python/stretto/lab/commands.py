# SPDX-License-Identifier: Apache-2.0
"""Carries out the commands of `stretto lab`, and prints their results."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from stretto.lab import jobs
from stretto.lab.cluster import Lab, namespace_processes
from stretto.lab.links import Links
from stretto.launch import mpi
from stretto.launch.settings.library import settings_for_launch
from stretto.support.console import print_result
from stretto.support.errors import StrettoError
from stretto.support.json_files import document_text


def up(name: str, links: Links) -> None:
    """Make the lab, and print whether it was made or was up already."""
    made = Lab(name).up(links)
    print(f"a lab of {links} is up" + ("" if made else " already"))


def change(
    name: str,
    rate: str | None,
    nodes: Sequence[int],
    uplink: str | None,
    rails: Sequence[int],
    state: str | None,
) -> None:
    """Change the rates or states of links of a lab that is up, and print all its links."""
    print(f"the lab has {Lab(name).change(rate, nodes, uplink, rails, state)} now")


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


@dataclass(frozen=True, slots=True)
class Status:
    """A lab that is up."""

    name: str
    links: Links | None
    """None if its state cannot be read."""
    error: str | None = None
    abandoned: bool = False
    """Whether it is incomplete, or the process that would remove it is gone."""
    processes: int = 0

    def __str__(self) -> str:
        """`stretto: 8 nodes at 200mbit, 3 processes in it`."""
        if self.error:
            return f"{self.name}: {self.error}"
        what = (
            "incomplete; remove it: stretto lab down"
            if self.abandoned
            else f"{self.processes} processes in it"
        )
        return f"{self.name}: {self.links}, {what}"


def status(as_json: bool) -> None:
    """Print each lab that is up: its nodes, links and processes."""
    labs = list(_labs())

    def document() -> str:
        return document_text("stretto-labs", sys.argv, None, {"labs": [asdict(one) for one in labs]})

    print_result(as_json, document, lambda: print(*labs, sep="\n") if labs else print("no lab is up"))


def _labs() -> Iterator[Status]:
    for lab in Lab.all():
        try:
            state = lab.state()
        except StrettoError as error:
            yield Status(lab.name, None, str(error))
            continue
        if state is not None:
            running = sum(1 for _ in namespace_processes(state.namespaces))
            yield Status(lab.name, state.links, None, state.abandoned, running)


def run(name: str, mpi_name: str, job: jobs.Job) -> int:
    """Run a job on the lab, and return its exit status. With Stretto, the tuning table in force applies."""
    lab = Lab(name)
    lab.require()
    install = mpi.find_install(mpi_name)
    if job.stretto or job.specs:
        settings = settings_for_launch(install.launcher, os.environ)
        job = replace(job, variables=settings | dict(job.variables))
    return jobs.run(lab, install, job)


def parse_ppn(text: str) -> list[int]:
    """The ranks of the nodes, from `--ppn 4` or `--ppn 5,3,8`."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise StrettoError(f"--ppn {text}: expected a number, or one for each node: 5,3,8") from None


def parse_variables(settings: Sequence[str]) -> dict[str, str]:
    """The variables that `--env NAME=VALUE` sets."""
    variables: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise StrettoError(f"--env {setting}: expected NAME=VALUE")
        variables[key] = value
    return variables
