# SPDX-License-Identifier: Apache-2.0
"""Runs MPI programs in a lab, with the flags that make each MPI library see a cluster."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stretto.lab.cluster import INTERFACE, Lab, namespace_processes
from stretto.launch import jobs
from stretto.launch.jobs import Process
from stretto.launch.mpi import Flavor, Install
from stretto.launch.run import mpi4py_settings, rank_options, rank_variables, spec_options
from stretto.support import paths
from stretto.support.errors import StrettoError

# The seconds that ranks may wait for others before the user is told, and the seconds between two checks.
_TELL_SECONDS = 20.0
_LOOK_SECONDS = 1.0
# The number of the system call read.
_READ = {"x86_64": "0", "aarch64": "63"}.get(platform.machine(), "")
# The launcher gets a moment to end its ranks itself, since it reports the reason.
_GRACE_SECONDS = 3.0


@dataclass(frozen=True)
class Job:
    """A program to run in a lab, and how to run it."""

    program: Sequence[str]
    ppn: int = 1
    np: int | None = None  # None: ppn on every node
    provider: str = "ucx"  # network layer of MPICH 5
    stretto: bool = False
    specs: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)  # for every rank
    on_each: Sequence[int] = ()  # the ranks of each node, if they are not `ppn` on all

    def slots(self, nodes: int) -> list[int]:
        """The most ranks of each node."""
        if self.on_each and len(self.on_each) != nodes:
            text = ",".join(map(str, self.on_each))
            raise StrettoError(
                f"--ppn {text}: the lab has {nodes} nodes: expected a number for each, or one for all"
            )
        slots = list(self.on_each) or [self.ppn] * nodes
        if min(slots) < 1:
            raise StrettoError(f"--ppn {min(slots)}: a node has at least one rank")
        return slots

    @property
    def shares_nodes(self) -> bool:
        """Whether a node has several ranks."""
        return max(self.on_each, default=self.ppn) > 1

    def ranks(self, nodes: int) -> int:
        """The number of ranks on that number of nodes."""
        most = sum(self.slots(nodes))
        if self.np is not None and not 1 <= self.np <= most:
            ranks = "+".join(map(str, self.on_each)) or str(self.ppn)
            raise StrettoError(f"--np {self.np}: {nodes} nodes of {ranks} ranks hold from 1 to {most}")
        return most if self.np is None else self.np


@dataclass(frozen=True)
class Command:
    """A launcher's command line, and its additional variables."""

    argv: list[str]
    environment: dict[str, str]


def _with_slots(job: Job, hosts: Sequence[str]) -> str:
    """The nodes as all launchers take them, `n0:5,n1:3`: host names with the most ranks of each."""
    return ",".join(f"{host}:{slots}" for host, slots in zip(hosts, job.slots(len(hosts)), strict=True))


def _openmpi(install: Install, job: Job, hosts: Sequence[str], remote_shell: Path) -> Command:
    slots = _with_slots(job, hosts)
    inside = {Flavor.OPENMPI4: "vader", Flavor.OPENMPI5: "sm"}[install.flavor]
    btl = f"{inside},tcp,self" if job.shares_nodes else "tcp,self"
    argv = [str(install.launcher.path), "--allow-run-as-root"]
    if install.flavor is Flavor.OPENMPI5:
        argv += ["--prtemca", "plm_ssh_agent", str(remote_shell), "--prtemca", "prte_if_include", INTERFACE]
        argv += ["--mca", "pml", "ob1"]
    else:
        argv += ["--mca", "plm_rsh_agent", str(remote_shell), "--mca", "oob_tcp_if_include", INTERFACE]
    # There are more ranks than cores, so waiting ranks must yield the processor.
    argv += ["--mca", "mpi_yield_when_idle", "1"]
    argv += ["--mca", "btl", btl, "--mca", "btl_tcp_if_include", INTERFACE]
    # All nodes share the same cores: with binding, their first ranks would share the first core.
    argv += ["--bind-to", "none", "-H", slots, "-np", str(job.ranks(len(hosts)))]
    return Command(argv, {})


def _hydra(install: Install, job: Job, hosts: Sequence[str]) -> list[str]:
    where = ["-iface", INTERFACE, "-hosts"]
    where += [_with_slots(job, hosts)] if job.on_each else [",".join(hosts), "-ppn", str(job.ppn)]
    return [str(install.launcher.path), *where, "-np", str(job.ranks(len(hosts)))]


def _mpich(install: Install, job: Job, hosts: Sequence[str], remote_shell: Path) -> Command:
    environment = {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(remote_shell)}
    if install.flavor is Flavor.MPICH5:
        environment["MPIR_CVAR_CH4_NETMOD"] = job.provider
    if job.provider == "ofi":
        environment |= {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": INTERFACE}
    else:
        # Left to itself, UCX notices that all nodes are one kernel, and uses shared memory.
        inside = ",sysv,posix" if job.shares_nodes else ""
        environment |= {"UCX_TLS": f"tcp,self{inside}", "UCX_NET_DEVICES": INTERFACE}
    return Command(_hydra(install, job, hosts), environment)


def _intelmpi(install: Install, job: Job, hosts: Sequence[str], remote_shell: Path) -> Command:
    environment = {
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": INTERFACE,
        "I_MPI_FABRICS": "shm:ofi" if job.shares_nodes else "ofi",
        "I_MPI_HYDRA_BOOTSTRAP": "ssh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(remote_shell),
        "I_MPI_HYDRA_IFACE": INTERFACE,
        "I_MPI_THREAD_YIELD": "3",
    }
    return Command(_hydra(install, job, hosts), environment)


def command(install: Install, job: Job, hosts: Sequence[str], remote_shell: Path) -> Command:
    """The command line that starts the job on these nodes. It must run in the first one."""
    if not job.program:
        raise StrettoError("no program given; use: stretto lab run --mpi openmpi -- ./program")
    if job.provider not in ("ucx", "ofi"):
        raise StrettoError(f"--provider {job.provider}: MPICH has ucx and ofi")
    if job.provider == "ofi" and install.flavor is not Flavor.MPICH5:
        raise StrettoError(f"--provider ofi: only --mpi mpich5 has a choice, not {install.flavor.value}")
    make = {Flavor.OPENMPI4: _openmpi, Flavor.OPENMPI5: _openmpi, Flavor.INTELMPI: _intelmpi}
    base = make.get(install.flavor, _mpich)(install, job, hosts, remote_shell)
    parts = install.environment()
    # Hydra passes its whole environment on to the ranks, Open MPI only its own variables.
    variables = {name: parts[name] for name in ("LD_LIBRARY_PATH",) if name in parts}
    if job.stretto or job.specs:
        paths.library()  # an error if there is none
        variables = rank_variables(os.environ, spec_options(job.specs), install.launcher) | variables
    else:
        variables = mpi4py_settings(install.launcher, os.environ) | variables
    variables |= job.variables
    options = rank_options(install.flavor, variables)
    return Command([*base.argv, *options, *job.program], {**parts, **base.environment})


@contextlib.contextmanager
def start(
    lab: Lab,
    install: Install,
    job: Job,
    stdin: int | None = None,
    stdout: int | None = None,
) -> Iterator[Process]:
    """Start a job. All its processes end with the block."""
    state = lab.require()
    line = command(install, job, state.hosts, lab.remote_shell)
    argv = lab.enter(state.hosts[0], line.argv)
    with jobs.start(
        argv, line.environment, stdin=stdin, stdout=stdout, grace_seconds=_GRACE_SECONDS
    ) as process:
        yield process


def run(lab: Lab, install: Install, job: Job) -> int:
    """Run a job to its end with our standard output and error. Returns its exit status.

    Tells the user if a job of MPICH 4 seems not to end; only the program knows whether it is done.
    """
    with start(lab, install, job) as process:
        if install.flavor is not Flavor.MPICH4:
            return process.wait()
        namespaces = lab.require().namespaces
        return wait_and_tell(process, lambda: any(map(waits_for_others, namespace_processes(namespaces))))


def wait_and_tell(process: Process, may_hang: Callable[[], bool]) -> int:
    """Wait for a job of MPICH 4 to end, and tell the user once if it seems to hang for _TELL_SECONDS."""
    since: float | None = time.monotonic()
    while True:
        try:
            return process.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        if since is None:
            continue
        if not may_hang():
            since = time.monotonic()
        elif time.monotonic() - since >= _TELL_SECONDS:
            since = None
            print(
                "stretto: ranks wait in MPI_Finalize or MPI_Init for others; if the program has ended, "
                "this is a fault of MPICH 4.0.2 over UCX and TCP: end the job by Ctrl-C, and "
                "take --mpi mpich5",
                file=sys.stderr,
                flush=True,
            )


def waits_for_others(rank: int) -> bool:
    """Whether the process waits for an answer of MPICH's process manager, as ranks do at its barriers."""
    try:
        call = Path(f"/proc/{rank}/syscall").read_text(encoding="ascii").split()
        variables = Path(f"/proc/{rank}/environ").read_bytes().split(b"\0")
    except OSError:  # gone meanwhile
        return False
    return len(call) > 1 and call[0] == _READ and b"PMI_FD=%d" % int(call[1], 16) in variables
