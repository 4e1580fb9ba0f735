# SPDX-License-Identifier: Apache-2.0
"""The settings of an MPI library that carry out a table's rules, for `stretto export` and `stretto run`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from stretto.launch import mpi
from stretto.launch.settings.intel_mpi import add_intel_mpi_rules
from stretto.launch.settings.mpich import add_mpich_rules, mpich_library
from stretto.launch.settings.open_mpi import add_open_mpi_rules
from stretto.launch.settings.rules import LibrarySettings, RuleSet
from stretto.launch.settings.tables import chosen_rules, family_of, read_table, table_in_force
from stretto.support.errors import StrettoError
from stretto.support.files import user_cache

# Variables by which users choose among the MPI library's algorithms. If one is set, Stretto sets nothing.
_USERS_CHOICE = re.compile(
    r"OMPI_MCA_coll_(tuned|han)_|MPIR_CVAR_\w*_(ALGORITHM|JSON_FILE)$|MPIR_CVAR_DEVICE_COLLECTIVES$|I_MPI_ADJUST_"
)


def settings_for_launch(launcher: mpi.Launcher, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that make the MPI library follow the tuning table in force; files go into the cache.

    There are none if there is no such table, or if the user's own variables choose algorithms. A table that
    cannot be used is not reported here: Stretto's library reports it on rank 0.
    """
    family = "intelmpi" if launcher.flavor is mpi.Flavor.INTELMPI else launcher.flavor.abi
    path = table_in_force(family, environment)
    if path is None or not path.is_file() or any(map(_USERS_CHOICE.match, environment)):
        return {}
    try:
        table = read_table(path)
        its_family, name = family_of(table)
        rule_sets = chosen_rules(table)
        if its_family != family or not rule_sets:
            return {}
        # The table's rules are for this version's tree, and with another tree the program may end.
        if family == "mpich" and name != f"MPICH {launcher.version}":
            return {}
        library = mpich_library(launcher) if family == "mpich" else None
        settings = library_settings(family, name, rule_sets, library)
        digest = hashlib.sha256(repr(sorted(settings.files.items())).encode()).hexdigest()[:16]
        folder = user_cache(environment) / "stretto"
        if settings.files:
            folder.mkdir(parents=True, exist_ok=True)
        return settings.written(folder / f"{family}-{digest}")
    except (StrettoError, OSError, RuntimeError):
        return {}


def library_settings(
    family: str, name: str, rule_sets: Sequence[RuleSet], mpich_library: Path | None
) -> LibrarySettings:
    """The settings of a library that carry out the rules.

    `name`: the library with its version, such as `Open MPI 5.0.11`. `mpich_library`: MPICH's shared object.
    """
    settings = LibrarySettings()
    known = list(_distinguishable(rule_sets, settings, by_ranks=family != "intelmpi"))
    if not known:
        return settings
    if family == "openmpi":
        add_open_mpi_rules(settings, known, version=int(re.sub(r"\D*(\d+).*", r"\1", name)))
    elif family == "mpich":
        add_mpich_rules(settings, known, mpich_library)
    else:
        add_intel_mpi_rules(settings, known)
    return settings


def _distinguishable(
    rule_sets: Sequence[RuleSet], settings: LibrarySettings, *, by_ranks: bool
) -> Iterator[RuleSet]:
    """The rule sets that a library can tell apart, at best by the number of ranks."""
    for one in rule_sets:
        if one.ranks == 0:
            settings.remarks.append(
                f"{one.call}: left out for {one.nodes} nodes with unequal numbers of ranks"
            )
            continue
        others = [
            other
            for other in rule_sets
            if other.call == one.call and (not by_ranks or other.ranks == one.ranks) and other is not one
        ]
        if others:
            settings.remarks.append(
                f"{one.call}: left out for {one.nodes} nodes of {one.ppn} ranks, as the library cannot tell "
                f"them from the table's other shapes; choose one by --nodes and --ppn"
            )
            continue
        yield one
