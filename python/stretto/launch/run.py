# SPDX-License-Identifier: Apache-2.0
"""Puts Stretto under an MPI program by its launcher's arguments.

`stretto exec` says which variables put Stretto under a rank, and nothing else knows them. The launcher's own
options hand them over, to the ranks only. The launcher and its daemons load no MPI library and need no
preload, so the launcher's own environment does not change.
"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.launch import mpi
from stretto.launch.command_lines import find_programs, unwrap, why_without
from stretto.launch.mpi import Flavor, Launcher
from stretto.launch.settings.library import settings_for_launch
from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.support.files import check_files

_LIBRARY = "STRETTO_LIB_DIR"
_SANITIZER_OPTIONS = "ASAN_OPTIONS"


def rank_variables(
    environment: Mapping[str, str],
    options: Sequence[str] = (),
    launcher: Launcher | Flavor | None = None,
) -> dict[str, str]:
    """The variables of a rank that is started in this environment. `options`: those of `stretto exec`.

    `launcher`: what starts the rank, or only its MPI; None if it is not known. Raises StrettoError if an
    option is wrong.
    """
    words = [str(paths.command()), "exec", "--list", *options]
    if launcher is not None:
        flavor = launcher if isinstance(launcher, Flavor) else launcher.flavor
        prefix = "" if isinstance(launcher, Flavor) else mpi.known_prefix(launcher) or ""
        words.append(f"--launcher={flavor.abi}:{prefix}")
    # The package knows the folder of its library; the command would have to search.
    library = paths.find_library()
    own = {_LIBRARY: str(library.parent)} if library else {}
    ran = subprocess.run(words, env={**own, **environment}, capture_output=True)
    if ran.returncode != 0:
        raise StrettoError(os.fsdecode(ran.stderr).strip().removeprefix("stretto: exec: "))
    lines = os.fsdecode(ran.stdout).split("\0")[:-1]
    variables = {name: value for name, _, value in (line.partition("=") for line in lines)}
    return {name: value for name, value in variables.items() if name != _LIBRARY or name in environment}


def stretto_variables(environment: Mapping[str, str], specs: Sequence[str] = ()) -> dict[str, str]:
    """The variables of Stretto itself among them."""
    variables = rank_variables(environment, spec_options(specs))
    return {name: value for name, value in variables.items() if name.startswith("STRETTO_")}


def mpi4py_settings(launcher: Launcher, environment: Mapping[str, str]) -> dict[str, str]:
    """Those that make mpi4py's wheel load the MPI of this launcher, not the first that it finds."""
    names = {"MPI4PY_LIBMPI", "MPI4PY_MPIABI", "LD_LIBRARY_PATH"}
    variables = rank_variables(environment, launcher=launcher)
    return {name: value for name, value in variables.items() if name in names}


def spec_options(specs: Sequence[str]) -> list[str]:
    """The options that force specs."""
    return [f"--spec={spec}" for spec in specs]


def summary_setting(
    wanted: bool | None, environment: Mapping[str, str], *, is_terminal: bool
) -> dict[str, str]:
    """The variable that makes a job print a summary at its end. `wanted`: None for the default."""
    if wanted is not None:
        return {"STRETTO_SUMMARY": "1" if wanted else "0"}
    # A summary that nobody asked for must not slow down small calls.
    return {"STRETTO_SUMMARY": "large"} if is_terminal and "STRETTO_SUMMARY" not in environment else {}


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

    def in_any_order(options: str) -> str:
        return rank_variables({_SANITIZER_OPTIONS: options})[_SANITIZER_OPTIONS]

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
    paths.library()  # an error if there is none
    named = mpi.find_flavor(mpi_name) if mpi_name is not None else None
    start = find_start(arguments, environment)
    options = spec_options(specs)
    options += [f"--stats={stats}"] if stats is not None else []
    options += ["--strict"] if strict else []
    options += [f"--replace={replace}"] if replace is not None else []
    if start.launcher is None:
        return _by_environment(arguments, start, options, others or {}, named)
    flavor = start.launcher.flavor
    if named is not None and named.abi != flavor.abi:
        raise StrettoError(f"--mpi {named.value}: {start.program} is the launcher of {flavor.label}")
    tail = arguments[start.at + 1 :]
    _check_no_own_preload(flavor, tail)
    given = rank_variables(start.environment, options, start.launcher) | dict(others or {})
    if follow_table:
        given |= settings_for_launch(start.launcher, start.environment)
    tail = sanitizers_in_any_order(flavor, tail, given)
    return Preloaded([*arguments[: start.at + 1], *rewrite(flavor, tail, given)], given)


def _by_environment(
    arguments: Sequence[str],
    start: Start,
    options: Sequence[str],
    others: Mapping[str, str],
    flavor: Flavor | None,
) -> Preloaded:
    """The command line with the variables in the environment of the program. `flavor`: None if not known.

    In processes that load no MPI (shells, daemons) the library does nothing. PyTorch loads it by itself.
    """
    # A wrapper may start the program in another folder (env -C).
    if start.at == 0 or Path(start.program).parts[:1] == ("/",) or "/" not in start.program:
        _check_program(start.program, start.environment)
    if Path(start.program).name == "srun":
        _check_srun(arguments[start.at + 1 :], start.environment)
    variables = rank_variables(start.environment, options, flavor) | dict(others)
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
