# SPDX-License-Identifier: Apache-2.0
"""Writes a library's settings, and prints the shell lines that set them, for `stretto export`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from stretto.launch.settings.library import library_settings
from stretto.launch.settings.mpich import find_mpich
from stretto.launch.settings.rules import LibrarySettings
from stretto.launch.settings.tables import chosen_rules, family_of, measured_rules, read_table
from stretto.spec.native import FAMILIES
from stretto.support.errors import StrettoError


@dataclass(frozen=True, slots=True)
class Shape:
    """The nodes and ranks per node of the rules to export; None for all."""

    nodes: int | None = None
    ppn: int | None = None


def settings_from_table(table: Path, to: str, shape: Shape) -> LibrarySettings:
    """The settings of the library `to` that carry out a table's rules about its own algorithms."""
    parsed = read_table(table)
    family, name = family_of(parsed)
    if to not in FAMILIES:
        raise StrettoError(f"--to {to}: expected openmpi, mpich or intelmpi")
    if to != family:
        raise StrettoError(f"--to {to}: {table} is for {name}, and each library has its own algorithms")
    rule_sets = [
        one
        for one in (measured_rules(parsed) or chosen_rules(parsed))
        if shape.nodes in (None, one.nodes) and shape.ppn in (None, one.ppn) and one.says_something
    ]
    if not rule_sets:
        raise StrettoError(f"{table}: none of {name}'s own algorithms was faster than the MPI default")
    return library_settings(family, name, rule_sets, find_mpich(name) if family == "mpich" else None)


def export(table: Path, to: str, shape: Shape, output: Path | None) -> None:
    """Write the library's files, and print remarks and the shell lines that set its variables."""
    settings = settings_from_table(table, to, shape)
    for remark in settings.remarks:
        print(f"stretto: {remark}", file=sys.stderr)
    if not settings.variables:
        raise StrettoError(f"{table}: no rule is left that {to} can follow")
    path = output or table.with_name(f"{table.stem}-{to}{'.json' if to == 'mpich' else '.rules'}")
    for variable, value in settings.written(path.absolute()).items():
        print(f"export {variable}={shlex.quote(value)}")
