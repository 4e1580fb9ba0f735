# SPDX-License-Identifier: Apache-2.0
"""Putting Stretto under an MPI program by the arguments of its launcher.

The settings reach the ranks only: the launcher and its daemons load no MPI library and need no preload, so
nothing is put into the environment of the launcher itself.
"""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from stretto import export, mpi, paths
from stretto.errors import StrettoError
from stretto.files import check_files
from stretto.mpi import Flavor, Launcher

# STRETTO_ variables that are for the command line, not for the ranks.
TOOL_VARIABLES = frozenset({"STRETTO_CACHE", "STRETTO_LIB_DIR", "STRETTO_MPI_PREFIXES"})
# Those that name files of ranks: a rank may run in another folder than the one where the name was written.
_FILES = ("STRETTO_STATS", "STRETTO_TABLE", "STRETTO_TRACE")


class UnknownLauncherError(StrettoError):
    """A launcher through which Stretto cannot pass settings; carries the shell lines that do so by hand."""

    def __init__(self, message: str, exports: list[str]) -> None:
        super().__init__(message)
        self.exports = exports


def preload(library: Path, existing: str) -> str:
    """LD_PRELOAD with the library in front of what is preloaded already."""
    others = [entry for entry in existing.replace(" ", ":").split(":") if entry and entry != str(library)]
    return ":".join([str(library), *others])


def forced(specs: Sequence[str]) -> dict[str, str]:
    """The variables that force specs: `ring:segments=4` that of allreduce, `bcast/chain` that of bcast."""
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


def check_spec(collective: str, spec: str) -> None:
    """An error of one line when the spec cannot be read, or there is no such collective."""
    try:
        from stretto import _core  # noqa: PLC0415  only this check needs the compiled module
    except ImportError:
        return  # the library says the same on rank 0
    if collective not in _core.collectives():
        known = ", ".join(_core.collectives())
        raise StrettoError(f"--spec {collective}/{spec}: there is no such collective; there are {known}")
    if spec != "auto":
        try:
            _core.parse_spec(spec, collective)
        except ValueError as error:
            raise StrettoError(str(error)) from None


def settings(
    environment: Mapping[str, str],
    *,
    specs: Sequence[str] = (),
    stats: Path | None = None,
    strict: bool = False,
) -> dict[str, str]:
    """The STRETTO_ variables for every rank: those of the environment, then those of the options."""
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


def mpi4py_settings(launcher: Launcher, environment: Mapping[str, str]) -> dict[str, str]:
    """What makes mpi4py's wheel load the MPI of this launcher instead of the first that it finds.

    MPI4PY_LIBMPI only: with MPI4PY_MPIABI set too, the wheel opens what the loader finds, not that file.
    """
    if "MPI4PY_LIBMPI" in environment or "MPI4PY_MPIABI" in environment:
        return {}
    libmpi = mpi.find_libmpi(launcher)
    if libmpi:
        return {"MPI4PY_LIBMPI": str(libmpi)}
    # Debian's MPICH has no libmpi.so.12. The wheel then cannot be used, and an error that says so is better
    # than what it does by itself: take Open MPI, and start every rank as a program of its own.
    return {"MPI4PY_MPIABI": launcher.flavor.abi}


def rank_options(flavor: Flavor, variables: Mapping[str, str]) -> list[str]:
    """Launcher options that set variables for every rank, on whatever node it is."""
    options: list[str] = []
    for name, value in variables.items():
        options += ["-x", f"{name}={value}"] if flavor.abi == "openmpi" else ["-genv", name, value]
    return options


def rewrite(flavor: Flavor, arguments: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """The launcher's arguments with the variables set for every rank; the user's own stay as they are."""
    options = rank_options(flavor, variables)
    result = list(options)
    for argument in arguments:
        result.append(argument)
        # Open MPI's -x counts for one of several programs only; they are separated by a lone colon.
        if argument == ":" and flavor.abi == "openmpi":
            result += options
    return result


def _check_no_own_preload(flavor: Flavor, arguments: Sequence[str]) -> None:
    """Of two settings of LD_PRELOAD one would be lost, and which one hangs on the launcher."""
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


def _exports(own_settings: Mapping[str, str], existing_preload: str) -> list[str]:
    """Shell lines that do by hand what Stretto does for the launchers that it knows."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in own_settings.items()]
    users = {"openmpi": "Open MPI", "mpich": "MPICH, Intel MPI or Cray MPICH"}
    for abi in paths.ABIS:
        library = paths.find_library(abi)
        if library:
            lines.append(f"# where the program uses {users[abi]}:")
            lines.append(f"export LD_PRELOAD={shlex.quote(preload(library, existing_preload))}")
    return lines


def command(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    specs: Sequence[str] = (),
    stats: Path | None = None,
    strict: bool = False,
    others: Mapping[str, str] | None = None,
    tell_library: bool = True,
) -> list[str]:
    """The command line that runs `arguments` (launcher first) with Stretto under every rank.

    `others`: variables for every rank that are not Stretto's. `tell_library`: also what a tuning table has of
    its own algorithms.
    """
    if not arguments:
        raise StrettoError("no launcher given; write: stretto run -- mpirun -np 4 ./program")
    variables = settings(environment, specs=specs, stats=stats, strict=strict) | dict(others or {})
    existing = environment.get("LD_PRELOAD", "")
    launcher = mpi.identify(arguments[0])
    if launcher is None:
        raise UnknownLauncherError(
            f"{arguments[0]} is no launcher that Stretto knows (those of Open MPI, MPICH and Intel MPI), "
            f"so nothing was run; set this for every rank yourself:",
            _exports(variables, existing),
        )
    _check_no_own_preload(launcher.flavor, arguments[1:])
    variables |= mpi4py_settings(launcher, environment)
    if tell_library:
        variables |= export.settings_for_launch(launcher, environment)
    variables["LD_PRELOAD"] = preload(paths.library(launcher.flavor.abi), existing)
    return [arguments[0], *rewrite(launcher.flavor, arguments[1:], variables)]


def run(
    arguments: Sequence[str], *, specs: Sequence[str] = (), stats: Path | None = None, strict: bool = False
) -> None:
    """Become the launcher, with Stretto under its ranks; its exit status is then ours. Does not return."""
    # Rank 0 writes it at the end; where it runs on another node, its STRETTO_STATS names a file there.
    check_files([stats])
    line = command(arguments, os.environ, specs=specs, stats=stats, strict=strict)
    try:
        os.execvp(line[0], line)
    except OSError as error:
        raise StrettoError(f"{line[0]} could not be started: {error.strerror}") from None
