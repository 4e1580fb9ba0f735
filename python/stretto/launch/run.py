# SPDX-License-Identifier: Apache-2.0
"""Puts Stretto under an MPI program by its launcher's arguments.

Only the ranks get the settings. The launcher and its daemons load no MPI library and need no preload, so the
launcher's own environment does not change.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.launch import mpi
from stretto.launch.command_lines import find_programs, unwrap, why_without
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


# Names the backend of torch.distributed that Stretto replaces in ranks that PyTorch itself starts.
_REPLACE = "STRETTO_REPLACE"
_REPLACEABLE = ("gloo",)


# Libraries that must come after Stretto: MPI libraries, whose functions would otherwise be found first, and
# other copies of Stretto.
_STAYS_BEHIND = re.compile(r"(?:libmpi|libmpich|libmpi_abi)\.so|libstretto")
# The address sanitizer refuses to start if any library is preloaded before it. It works all the same: it
# still comes before the libraries whose functions it replaces, and Stretto has none of these functions.
_SANITIZER_OPTIONS = "ASAN_OPTIONS"
_ANY_ORDER = "verify_asan_link_order=0"


def preload_value(library: Path, existing: str) -> str:
    """The value of LD_PRELOAD: the existing entries, such as a PMPI tool, then Stretto's library.

    A tool before Stretto sees each call of the program once; after it, the tool would miss the calls that
    Stretto handles.
    """
    others = [entry for entry in existing.replace(" ", ":").split(":") if entry not in ("", str(library))]
    behind = [entry for entry in others if _STAYS_BEHIND.match(Path(entry).name)]
    return ":".join([*(entry for entry in others if entry not in behind), str(library), *behind])


def preload_variables(library: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that preload the library, in addition to what the environment preloads."""
    auditors = audit_value(library, environment.get("LD_AUDIT", ""))
    return {
        "LD_PRELOAD": preload_value(library, environment.get("LD_PRELOAD", "")),
        **({"LD_AUDIT": auditors} if auditors else {}),
        _SANITIZER_OPTIONS: in_any_order(environment.get(_SANITIZER_OPTIONS, "")),
    }


def audit_value(library: Path, existing: str) -> str:
    """The value of LD_AUDIT: the existing entries, then Stretto's, for calls that bypass a preload."""
    auditor = library.with_name("libstretto-audit.so")
    known = [entry for entry in existing.split(":") if entry not in ("", str(auditor))]
    return ":".join([*known, str(auditor)] if auditor.exists() else known)


def in_any_order(options: str) -> str:
    """The options of the address sanitizer that let it start after a preloaded library."""
    return options if _ANY_ORDER in options.split(":") else ":".join(filter(None, [options, _ANY_ORDER]))


def forced(specs: Sequence[str]) -> dict[str, str]:
    """The variables that force specs: `ring:segments=4` for allreduce, `bcast/chain` for bcast."""
    result: dict[str, str] = {}
    for text in specs:
        before, slash, after = text.partition("/")
        collective, spec = (before, after) if slash else ("allreduce", text)
        check_spec(collective, spec)
        variable = f"STRETTO_{collective.upper()}"
        if variable in result:
            raise StrettoError(f"--spec {text}: a spec for {collective} is given already: {result[variable]}")
        result[variable] = spec
    return result


def stretto_variables(
    environment: Mapping[str, str],
    *,
    specs: Sequence[str] = (),
    stats: Path | None = None,
    strict: bool = False,
    replace: str | None = None,
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
    if replace is not None:
        if replace not in _REPLACEABLE:
            raise StrettoError(f"--replace {replace}: it can only replace {' or '.join(_REPLACEABLE)}")
        result[_REPLACE] = replace
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
    """The variables that make mpi4py's wheel load the MPI of this launcher, not the first that it finds.

    MPI4PY_LIBMPI must be set alone: with MPI4PY_MPIABI, the wheel opens what the loader finds, not that file.
    """
    if "MPI4PY_LIBMPI" in environment or "MPI4PY_MPIABI" in environment:
        return {}
    libmpi = mpi.find_libmpi(launcher)
    if libmpi:
        return {"MPI4PY_LIBMPI": str(libmpi)}
    settings = {"MPI4PY_MPIABI": launcher.flavor.abi}
    # Debian's MPICH has no libmpi.so.12, which the wheel needs: without an alias it cannot be used. If
    # nothing were set, it would load Open MPI, and each rank would be a job of its own. An error is better.
    alias = mpi.find_alias(launcher)
    if alias is not None:
        # The alias comes after the user's folders, for programs that bring their own MPICH.
        existing = environment.get("LD_LIBRARY_PATH", "")
        settings["LD_LIBRARY_PATH"] = ":".join(filter(None, [existing, str(alias)]))
    return settings


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
    """Raise StrettoError if the user's options set what Stretto sets, since one of the two would be lost."""
    for option, value in itertools.pairwise(arguments):
        name, equals, _ = value.partition("=")
        if flavor.abi == "openmpi":
            clash = option in ("-x", "--x") and bool(equals)
        else:
            clash = option in ("-genv", "-env")
        if clash and name in ("LD_PRELOAD", "LD_AUDIT"):
            raise StrettoError(
                f"the launcher's own {option} {value} would clash with Stretto's {name}; set {name} in the "
                f"environment instead, where Stretto keeps it"
            )


def sanitizers_in_any_order(flavor: Flavor, arguments: Sequence[str], given: Mapping[str, str]) -> list[str]:
    """The arguments, with the sanitizer's options in them completed, since these prevail over ours.

    They can be in options of the launcher and, behind these, in `env ASAN_OPTIONS=...`.
    """
    result = list(arguments)
    for at, word in enumerate(arguments):
        before = arguments[at - 1] if at else ""
        name, equals, value = word.partition("=")
        if name != _SANITIZER_OPTIONS:
            continue
        if equals:
            result[at] = f"{name}={in_any_order(value)}"
        elif flavor.abi == "openmpi" and before in ("-x", "--x"):
            result[at] = f"{name}={given[name]}"  # the launcher takes it from the environment
        elif flavor.abi != "openmpi" and before in ("-genv", "-env") and at + 1 < len(result):
            result[at + 1] = in_any_order(arguments[at + 1])
    return result


def _check_program(program: str, environment: Mapping[str, str]) -> None:
    """Raise StrettoError if there is no such program, or if it cannot be started."""
    if shutil.which(program, path=environment.get("PATH")) is not None:
        return
    if "/" in program and Path(program).exists():
        raise StrettoError(f"{program} is not executable; make it so, or name its interpreter")
    where = "does not exist" if "/" in program else "is not in PATH"
    raise StrettoError(f"{program} {where}; use: stretto run -- mpirun -np 4 ./program")


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
    inner = unwrap(arguments, environment)
    own = {name: value for name, value in inner.environment.items() if environment.get(name) != value}
    launcher = mpi.identify(arguments[inner.at], own)
    return Start(inner.at, arguments[inner.at], launcher, inner.environment)


def find_rank_programs(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The programs that a command line starts as ranks, if they are found."""
    start = find_start(arguments, environment)
    if start.launcher is None and Path(start.program).name != "srun":
        return [start.program]
    return find_programs(arguments[start.at + 1 :], start.environment)


def check_root(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raise StrettoError if the launcher is Open MPI's and refuses to run for root, in a page of text."""
    if os.geteuid() != 0 or {"--allow-run-as-root", "-h", "--help", "-V", "--version"} & set(arguments):
        return
    try:
        start = find_start(arguments, environment)
    except StrettoError:
        return  # the program is missing; whoever starts it reports that
    launcher = start.launcher
    if launcher is None or launcher.flavor.abi != "openmpi":
        return
    prefixes = ("OMPI", "PRTE") if launcher.flavor is Flavor.OPENMPI5 else ("OMPI",)
    names = [(f"{one}_ALLOW_RUN_AS_ROOT", f"{one}_ALLOW_RUN_AS_ROOT_CONFIRM") for one in prefixes]
    if not any(all(start.environment.get(name) == "1" for name in both) for both in names):
        raise StrettoError(
            f"{launcher.path.name} of {launcher.flavor.label} does not run as root by default; use: "
            f"{launcher.path.name} --allow-run-as-root …, or set {names[0][0]}=1 and {names[0][1]}=1"
        )


@dataclass(frozen=True)
class Preloaded:
    """A command line that runs programs with Stretto under every rank."""

    line: list[str]
    variables: dict[str, str]
    """The variables that it sets for the ranks."""


def build_command(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    specs: Sequence[str] = (),
    others: Mapping[str, str] | None = None,
    follow_table: bool = True,
    mpi_name: str | None = None,
) -> list[str]:
    """The command line of `put_under` with these arguments."""
    return put_under(
        arguments, environment, specs=specs, others=others, follow_table=follow_table, mpi_name=mpi_name
    ).line


def put_under(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    specs: Sequence[str] = (),
    stats: Path | None = None,
    strict: bool = False,
    replace: str | None = None,
    others: Mapping[str, str] | None = None,
    follow_table: bool = True,
    mpi_name: str | None = None,
) -> Preloaded:
    """The command line that runs `arguments` (launcher first) with Stretto under every rank.

    `others`: further variables for every rank. `follow_table`: also set variables by which the MPI library
    follows the tuning table. `mpi_name`: the MPI of the ranks, if `arguments` do not begin with its launcher.
    """
    if not arguments:
        raise StrettoError("no launcher given; use: stretto run -- mpirun -np 4 ./program")
    named = mpi.find_flavor(mpi_name) if mpi_name is not None else None
    start = find_start(arguments, environment)
    given = stretto_variables(
        start.environment, specs=specs, stats=stats, strict=strict, replace=replace
    ) | dict(others or {})
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
    given |= preload_variables(paths.library(), start.environment)
    tail = sanitizers_in_any_order(flavor, tail, given)
    return Preloaded([*arguments[: start.at + 1], *rewrite(flavor, tail, given)], given)


def _by_environment(
    arguments: Sequence[str], start: Start, variables: Mapping[str, str], flavor: Flavor | None
) -> Preloaded:
    """The command line with the variables in the environment of the program. `flavor`: None if not known.

    In processes that load no MPI (shells, daemons) the library does nothing. PyTorch loads it by itself.
    """
    # A wrapper may start the program in another folder (env -C).
    if start.at == 0 or Path(start.program).parts[:1] == ("/",) or "/" not in start.program:
        _check_program(start.program, start.environment)
    if Path(start.program).name == "srun":
        _check_srun(arguments[start.at + 1 :], start.environment)
    variables = dict(variables)
    if flavor and "MPI4PY_LIBMPI" not in start.environment and "MPI4PY_MPIABI" not in start.environment:
        variables["MPI4PY_MPIABI"] = flavor.abi
    if not variables.get(_REPLACE):
        variables |= preload_variables(paths.library(), start.environment)
    assignments = [f"{name}={value}" for name, value in variables.items()]
    # They come just before the program, since a wrapper may clear the environment.
    return Preloaded([*arguments[: start.at], "env", *assignments, *arguments[start.at :]], variables)


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
        f"{where} does not pass the variables of Stretto to the ranks; use: srun … stretto exec ./program, "
        f"or give srun --export={wanted}"
    )


def _check_ranks(arguments: Sequence[str], environment: Mapping[str, str], *, strict: bool) -> None:
    """Print which programs run without Stretto, since nothing else does. Raises StrettoError if strict."""
    for program in find_rank_programs(arguments, environment):
        reason = why_without(program, environment)
        if reason and strict:
            raise StrettoError(f"{program} would run without Stretto: {reason}")
        if reason:
            print(f"stretto: {program} runs without Stretto: {reason}", file=sys.stderr, flush=True)


def command_text(command: Preloaded) -> Iterator[str]:
    """Lines that a shell could read: the variables that are set for ranks, and the command line."""
    for name, value in command.variables.items():
        yield f"{name}={shlex.quote(value)}"
    yield shlex.join(command.line)


def become_launcher(
    arguments: Sequence[str],
    *,
    specs: Sequence[str] = (),
    stats: Path | None = None,
    strict: bool = False,
    replace: str | None = None,
    summary: bool | None = None,
    mpi_name: str | None = None,
    dry: bool = False,
) -> None:
    """Replace this process by the launcher, with Stretto under its ranks. Does not return.

    `dry`: only print the variables and the command line, and return.
    """
    # Rank 0 writes the file at the end. If it runs on another node, it writes the file there.
    check_files([stats])
    environment = os.environ | summary_setting(summary, os.environ, is_terminal=sys.stderr.isatty())
    command = put_under(
        arguments,
        environment,
        specs=specs,
        stats=stats,
        strict=strict,
        replace=replace,
        mpi_name=mpi_name,
    )
    check_root(arguments, environment)
    _check_ranks(arguments, environment, strict=strict or environment.get("STRETTO_STRICT") == "1")
    line = command.line
    if dry:
        print(*command_text(command), sep="\n")
        return
    try:
        os.execvp(line[0], line)
    except OSError as error:
        raise StrettoError(f"{line[0]} could not be started: {error.strerror}") from None
