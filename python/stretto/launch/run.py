# SPDX-License-Identifier: Apache-2.0
"""Puts Stretto under an MPI program by its launcher's arguments.

Only the ranks get the settings. The launcher and its daemons load no MPI library and need no preload, so the
launcher's own environment does not change.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.launch import mpi, wrappers
from stretto.launch.mpi import Flavor, Launcher
from stretto.launch.settings.library import settings_for_launch
from stretto.spec.checks import check_spec
from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.support.files import check_files

# STRETTO_ variables of the command line, which ranks do not need.
TOOL_VARIABLES = frozenset({"STRETTO_CACHE", "STRETTO_LIB_DIR", "STRETTO_MPI_PREFIXES"})
# Variables that name files. Ranks may run in another folder, so the paths are made absolute.
_FILES = ("STRETTO_STATS", "STRETTO_TABLE", "STRETTO_TRACE")


def preload_value(libraries: Sequence[Path], existing: str) -> str:
    """The value of LD_PRELOAD: the libraries, then what is preloaded already."""
    own = list(map(str, libraries))
    others = [entry for entry in existing.replace(" ", ":").split(":") if entry and entry not in own]
    return ":".join([*own, *others])


def forced(specs: Sequence[str]) -> dict[str, str]:
    """The variables that force specs: `ring:segments=4` for allreduce, `bcast/chain` for bcast."""
    result: dict[str, str] = {}
    for text in specs:
        before, slash, after = text.partition("/")
        collective, spec = (before, after) if slash else ("allreduce", text)
        check_spec(collective, spec)
        variable = f"STRETTO_{collective.upper()}"
        if variable in result:
            raise StrettoError(f"--spec {text}: there is one for {collective} already, {result[variable]}")
        result[variable] = spec
    return result


def stretto_variables(
    environment: Mapping[str, str],
    *,
    specs: Sequence[str] = (),
    stats: Path | None = None,
    strict: bool = False,
) -> dict[str, str]:
    """The STRETTO_ variables for every rank, from the environment and the options, which prevail."""
    result = {
        name: value
        for name, value in sorted(environment.items())
        if name.startswith("STRETTO_") and name not in TOOL_VARIABLES
    }
    result |= forced(specs)
    if stats is not None:
        result["STRETTO_STATS"] = str(stats)
    for name in _FILES:
        if result.get(name) and (name, result[name]) != ("STRETTO_TABLE", "none"):
            result[name] = str(Path(result[name]).absolute())
    if strict:
        result["STRETTO_STRICT"] = "1"
    return result


def summary_setting(
    wanted: bool | None, environment: Mapping[str, str], *, is_terminal: bool
) -> dict[str, str]:
    """The variable that makes a job print a summary at its end. `wanted`: None for the default."""
    if wanted is not None:
        return {"STRETTO_SUMMARY": "1" if wanted else "0"}
    # A summary that nobody asked for must not slow down small calls.
    return {"STRETTO_SUMMARY": "large"} if is_terminal and "STRETTO_SUMMARY" not in environment else {}


def mpi4py_settings(launcher: Launcher, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which mpi4py's wheel loads the MPI of this launcher, not the first that it finds.

    MPI4PY_LIBMPI only: with MPI4PY_MPIABI set too, the wheel opens what the loader finds, not that file.
    """
    if "MPI4PY_LIBMPI" in environment or "MPI4PY_MPIABI" in environment:
        return {}
    libmpi = mpi.find_libmpi(launcher)
    if libmpi:
        return {"MPI4PY_LIBMPI": str(libmpi)}
    # Debian's MPICH has no libmpi.so.12, so the wheel cannot be used. Without this variable it would load
    # Open MPI, and each rank would be a job by itself. An error is better.
    return {"MPI4PY_MPIABI": launcher.flavor.abi}


def rank_options(flavor: Flavor, variables: Mapping[str, str]) -> list[str]:
    """The launcher's options that set variables for every rank on every node."""
    options: list[str] = []
    for name, value in variables.items():
        options += ["-x", f"{name}={value}"] if flavor.abi == "openmpi" else ["-genv", name, value]
    return options


def rewrite(flavor: Flavor, arguments: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """The launcher's arguments with options added that set the variables for every rank."""
    options = rank_options(flavor, variables)
    result = list(options)
    for argument in arguments:
        result.append(argument)
        # Several programs are separated by a colon, and Open MPI's -x applies to one of them.
        if argument == ":" and flavor.abi == "openmpi":
            result += options
    return result


def _check_no_own_preload(flavor: Flavor, arguments: Sequence[str]) -> None:
    """Raise StrettoError if the user's options set LD_PRELOAD, since one of two settings would be lost."""
    for option, value in itertools.pairwise(arguments):
        if flavor.abi == "openmpi":
            clash = option in ("-x", "--x") and value.startswith("LD_PRELOAD=")
        else:
            clash = option in ("-genv", "-env") and value == "LD_PRELOAD"
        if clash:
            raise StrettoError(
                f"the launcher's own {option} {value} would clash with Stretto's LD_PRELOAD; set LD_PRELOAD "
                f"in the environment instead, Stretto keeps what is there"
            )


@dataclass(frozen=True)
class Start:
    """The program that a command line starts, after `env`, `timeout` and the like."""

    at: int
    """The index of the program in the command line."""
    program: str
    launcher: Launcher | None
    """None if the program is not a known launcher."""
    environment: dict[str, str]
    """The environment of the program."""


def find_start(arguments: Sequence[str], environment: Mapping[str, str]) -> Start:
    """The launcher, or another program, that a command line starts."""
    inner = wrappers.unwrap(arguments, environment)
    own = {name: value for name, value in inner.environment.items() if environment.get(name) != value}
    launcher = mpi.identify(arguments[inner.at], own)
    return Start(inner.at, arguments[inner.at], launcher, inner.environment)


def build_command(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    specs: Sequence[str] = (),
    stats: Path | None = None,
    strict: bool = False,
    others: Mapping[str, str] | None = None,
    follow_table: bool = True,
    mpi_name: str | None = None,
) -> list[str]:
    """The command line that runs `arguments` (launcher first) with Stretto under every rank.

    `others`: further variables for every rank. `follow_table`: also set variables by which the MPI library
    follows the tuning table. `mpi_name`: the MPI of the ranks, if `arguments` do not begin with its launcher.
    """
    if not arguments:
        raise StrettoError("no launcher given; write: stretto run -- mpirun -np 4 ./program")
    named = mpi.find_flavor(mpi_name) if mpi_name is not None else None
    start = find_start(arguments, environment)
    given = stretto_variables(start.environment, specs=specs, stats=stats, strict=strict) | dict(others or {})
    if start.launcher is None:
        return _by_environment(arguments, start, given, named)
    flavor = start.launcher.flavor
    if named is not None and named.abi != flavor.abi:
        raise StrettoError(f"--mpi {named.value}: {start.program} is the launcher of {flavor.label}")
    tail = arguments[start.at + 1 :]
    _check_no_own_preload(flavor, tail)
    given |= mpi4py_settings(start.launcher, start.environment)
    if follow_table:
        given |= settings_for_launch(start.launcher, start.environment)
    given["LD_PRELOAD"] = preload_value(paths.preloads(flavor.abis), start.environment.get("LD_PRELOAD", ""))
    return [*arguments[: start.at + 1], *rewrite(flavor, tail, given)]


def _by_environment(
    arguments: Sequence[str], start: Start, variables: Mapping[str, str], flavor: Flavor | None
) -> list[str]:
    """The command line with the variables in the environment of the program. `flavor`: None if not known.

    In processes that load no MPI (shells, daemons) the library does nothing.
    """
    if Path(start.program).name == "srun":
        _check_srun(arguments[start.at + 1 :], start.environment)
    variables = dict(variables)
    if flavor and "MPI4PY_LIBMPI" not in start.environment and "MPI4PY_MPIABI" not in start.environment:
        variables["MPI4PY_MPIABI"] = flavor.abi
    strettos = paths.preloads(flavor.abis if flavor else paths.ABIS)
    variables["LD_PRELOAD"] = preload_value(strettos, start.environment.get("LD_PRELOAD", ""))
    assignments = [f"{name}={value}" for name, value in variables.items()]
    # Just before the program, since a wrapper may clear the environment.
    return [*arguments[: start.at], "env", *assignments, *arguments[start.at :]]


def _check_srun(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raise StrettoError if srun is told not to pass the environment on to the ranks."""
    where, value = "", None
    for name in ("SLURM_EXPORT_ENV", "SRUN_EXPORT_ENV"):
        if environment.get(name):
            where, value = f"{name}={environment[name]}", environment[name]
    for word, following in itertools.pairwise([*arguments, ""]):
        if word.startswith("--export="):
            where, value = word, word.partition("=")[2]
        elif word == "--export":
            where, value = f"{word} {following}", following
        elif not word.startswith("-") and shutil.which(word):
            break  # the program, whose options are its own
    if value is None or "ALL" in value.split(","):
        return
    wanted = "ALL" if value in ("NONE", "NIL") else f"ALL,{value}"
    raise StrettoError(
        f"{where} keeps what Stretto sets from the ranks; write: srun … stretto exec ./program, or give srun "
        f"--export={wanted}"
    )


def become_launcher(
    arguments: Sequence[str],
    *,
    specs: Sequence[str] = (),
    stats: Path | None = None,
    strict: bool = False,
    summary: bool | None = None,
    mpi_name: str | None = None,
) -> None:
    """Replace this process by the launcher, with Stretto under its ranks. Does not return."""
    # Rank 0 writes the file at the end. If it runs on another node, the file is there.
    check_files([stats])
    environment = os.environ | summary_setting(summary, os.environ, is_terminal=sys.stderr.isatty())
    line = build_command(arguments, environment, specs=specs, stats=stats, strict=strict, mpi_name=mpi_name)
    try:
        os.execvp(line[0], line)
    except OSError as error:
        raise StrettoError(f"{line[0]} could not be started: {error.strerror}") from None
