# SPDX-License-Identifier: Apache-2.0
"""Finds the programs in command lines: behind `env`, `timeout`, `nice` and the like, and behind launchers."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.support import paths


@dataclass(frozen=True)
class _Wrapper:
    """The syntax of a wrapper's command line, up to the program that it starts."""

    short: str = ""
    """Letters of options whose value may be the next word."""
    long: frozenset[str] = frozenset()
    """Names of options whose value may be the next word."""
    operands: int = 0
    """Words between the options and the program."""
    other_use: frozenset[str] = frozenset()
    """Options with which the wrapper starts no program, or one that is named elsewhere."""


_WRAPPERS = {
    "env": _Wrapper("uC", frozenset({"unset", "chdir"}), other_use=frozenset({"S", "split-string"})),
    "ionice": _Wrapper("cn", frozenset({"class", "classdata"}), other_use=frozenset("pPu")),
    "nice": _Wrapper("n", frozenset({"adjustment"})),
    "nohup": _Wrapper(),
    "numactl": _Wrapper(
        "ipPNCmcw",
        frozenset({"interleave", "preferred", "preferred-many", "cpunodebind", "physcpubind", "membind"}),
    ),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper("ioe", frozenset({"input", "output", "error"})),
    "taskset": _Wrapper(operands=1, other_use=frozenset({"p", "pid"})),
    "time": _Wrapper("fo", frozenset({"format", "output"})),
    "timeout": _Wrapper("ks", frozenset({"kill-after", "signal"}), operands=1),
}
NAMES = tuple(_WRAPPERS)


@dataclass(frozen=True)
class Inner:
    """The program that the wrappers start."""

    at: int
    """Its index in the command line."""
    environment: dict[str, str]
    """Its environment."""


def unwrap(words: Sequence[str], environment: Mapping[str, str]) -> Inner:
    """The first program of a command line that is not a wrapper, or a wrapper whose options are unknown."""
    inner = Inner(0, dict(environment))
    while (wrapper := _WRAPPERS.get(Path(words[inner.at]).name)) is not None:
        further = _step(words, inner, wrapper)
        if further is None or further.at >= len(words):
            return inner
        inner = further
    return inner


def _step(words: Sequence[str], inner: Inner, wrapper: _Wrapper) -> Inner | None:
    at, options = _read_options(words, inner.at + 1, wrapper)
    if any(name in wrapper.other_use for name, _ in options):
        return None
    environment = inner.environment
    if wrapper is _WRAPPERS["env"]:
        names = {name for name, _ in options}
        # A lone dash is -i.
        cleared = bool(names & {"i", "ignore-environment"}) or words[at : at + 1] == ["-"]
        at += words[at : at + 1] == ["-"]
        unset = {value for name, value in options if name in ("u", "unset")}
        kept = {} if cleared else environment
        environment = {name: value for name, value in kept.items() if name not in unset}
        while at < len(words) and "=" in words[at]:
            name, _, value = words[at].partition("=")
            environment[name] = value
            at += 1
    return Inner(at + wrapper.operands, environment)


def _read_options(words: Sequence[str], at: int, wrapper: _Wrapper) -> tuple[int, list[tuple[str, str]]]:
    """The index at which the options end (at --, or the first word that is no option), and the options."""
    options: list[tuple[str, str]] = []
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name in wrapper.long:
                value, at = "".join(words[at : at + 1]), at + 1
            options.append((name, value))
            continue
        # Letters may be combined. The value of the last is the rest of the word, or the next word.
        for place, letter in enumerate(word[1:], start=2):
            value = ""
            if letter in wrapper.short:
                value = word[place:]
                if not value:
                    value, at = "".join(words[at : at + 1]), at + 1
            options.append((letter, value))
            if letter in wrapper.short:
                break
    return at, options


# Options of launchers whose values may be programs, and the number of their values.
_VALUES = {
    **dict.fromkeys(("--mca", "-mca", "--gmca", "-gmca", "--omca", "--prtemca", "--pmixmca"), 2),
    **dict.fromkeys(("-genv", "-env"), 2),
    **dict.fromkeys(("-launcher-exec", "-bootstrap-exec", "--launch-agent", "-x"), 1),
}


def find_programs(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The programs in a launcher's arguments: one, or several with a colon between them.

    Launchers have hundreds of options, so this looks for words that name a program. A word behind an option
    may be its value, so it counts only if it has a slash.
    """
    found = [part[_find_command(part, environment) :] for part in _parts(arguments)]
    return [words[unwrap(words, environment).at] for words in found if words]


def replace_programs(
    arguments: Sequence[str], command: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """A launcher's arguments with another command line in place of each program and its arguments."""
    parts = [[*part[: _find_command(part, environment)], *command] for part in _parts(arguments)]
    return [word for number, part in enumerate(parts) for word in ([":"] if number else []) + part]


def _parts(arguments: Sequence[str]) -> list[list[str]]:
    """The words between lone colons; one empty part if there are none."""
    return [list(part) for colon, part in itertools.groupby(arguments, ":".__eq__) if not colon] or [[]]


def _find_command(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """The index at which the command line of a program begins; the number of words if there is none."""
    at = 0
    while at < len(words):
        word, before = words[at], words[at - 1] if at else ""
        if word in _VALUES:
            at += 1 + _VALUES[word]
            continue
        is_value = word.startswith("-") or (before.startswith("-") and "/" not in word)
        if not is_value and shutil.which(word, path=environment.get("PATH")):
            return at
        at += 1
    return at


def why_without(program: str, environment: Mapping[str, str]) -> str:
    """Why calls of a program would not reach Stretto; empty if no reason is known."""
    line = [str(paths.command()), "exec", "--check", program]
    ran = subprocess.run(line, env=dict(environment), capture_output=True, text=True)
    return ran.stdout.strip().removeprefix(f"{program}: ") if ran.returncode == 1 else ""
