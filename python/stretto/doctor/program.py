# SPDX-License-Identifier: Apache-2.0
"""What `stretto doctor -- PROGRAM` says: whether the calls of a program will come to Stretto."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from stretto.doctor.checks import Finding, Verdict
from stretto.launch.command_lines import why_without
from stretto.launch.run import find_rank_programs
from stretto.support import paths
from stretto.support.errors import StrettoError

_INTERFACES = {
    "libmpi_abi.so": "the standard ABI",
    "libmpi.so.12": "MPICH's",
    "libmpich.so": "MPICH's",
    "libmpi.so": "Open MPI's",
}
# The first glibc whose linker tells an auditor of bindings, and leaves calls alone (src/audit).
_AUDITED = (2, 35)


def examine_program(arguments: Sequence[str], environment: Mapping[str, str]) -> list[Finding]:
    """What is known of a command line before it is started: a program, or a launcher with one."""
    programs = find_rank_programs(arguments, environment)
    if not programs:
        raise StrettoError(f"no program was found after {arguments[0]}; use: stretto doctor -- ./program")
    return [finding for program in programs for finding in check_program(program, environment)]


def check_program(program: str, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether Stretto can be under a program, which MPI library it has, and what looks past a preload."""
    reason = why_without(program, environment)
    if reason:
        yield Finding(Verdict.BAD, program, f"runs without Stretto: {reason}")
        return
    yield Finding(Verdict.GOOD, program, "Stretto can be preloaded")
    libraries, loader = _loaded(program, environment)
    yield _library(libraries)
    yield _calls(loader)


def _loaded(program: str, environment: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
    """The libraries that a program is linked with, by name, and its loader; nothing of a script."""
    # The loader lists them, and starts nothing.
    listing = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_PRELOAD": "", "LD_AUDIT": ""}
    with Path(shutil.which(program, path=environment.get("PATH")) or program).open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return {}, None
    ran = subprocess.run([program], env={**environment, **listing}, capture_output=True, text=True)
    libraries: dict[str, str] = {}
    loader = None
    for line in ran.stdout.splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if arrow:
            libraries[name] = path.partition(" (")[0]
        elif name.startswith("/"):
            loader = name.partition(" (")[0]
    return libraries, loader


def _library(libraries: Mapping[str, str]) -> Finding:
    what = "MPI library"
    for name, path in libraries.items():
        interface = next((one for start, one in _INTERFACES.items() if name.startswith(start)), None)
        if interface is not None and path == "not found":
            return Finding(Verdict.BAD, what, f"{name} is not found; set LD_LIBRARY_PATH to its folder")
        if interface is not None:
            return Finding(Verdict.GOOD, what, f"{path}, which has {interface} binary interface")
        if name.startswith("libmpitrampoline"):
            return Finding(Verdict.GOOD, what, f"{path}, which calls another one: Stretto serves that one")
    return Finding(
        Verdict.ABSENT, what, "linked with none; Stretto serves the one that it opens, as Python does"
    )


def _calls(loader: str | None) -> Finding:
    what = "calls past a preload"
    auditor = paths.library().with_name("libstretto-audit.so")
    if not auditor.exists():
        return Finding(Verdict.ABSENT, what, f"not served: {auditor} is not there; install Stretto again")
    version = _glibc(loader or "ldd")
    if version is not None and version < _AUDITED:
        detail = f"not served by glibc {version[0]}.{version[1]}; 2.35 is needed"
        return Finding(Verdict.ABSENT, what, f"{detail} for RTLD_DEEPBIND and dlsym in a library")
    return Finding(Verdict.GOOD, what, "served: RTLD_DEEPBIND, dlsym in a library")


def _glibc(loader: str) -> tuple[int, int] | None:
    try:
        ran = subprocess.run([loader, "--version"], capture_output=True, text=True)
    except OSError:
        return None
    found = re.search(r"(\d+)\.(\d+)\.?$", ran.stdout.partition("\n")[0])
    return (int(found[1]), int(found[2])) if found else None
