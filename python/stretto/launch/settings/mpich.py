# SPDX-License-Identifier: Apache-2.0
"""Settings for MPICH 4 and 5: a JSON tree of conditions.

The tree replaces MPICH's own, and a call that the tree does not cover ends the program. So the rules
are added to MPICH's own tree, which is in its shared object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stretto.launch import mpi
from stretto.launch.settings.rules import PATH, LibrarySettings, RuleSet
from stretto.support.errors import StrettoError

Json = dict[str, Any]

# MPICH's name for the size of the whole message. Scans have no such size: asking for it ends the program. For
# gather and scatter, the size counts elements instead of bytes (csel.c of MPICH 4.3).
_SIZES = {
    "allreduce": "avg_msg_size",
    "bcast": "avg_msg_size",
    "reduce": "avg_msg_size",
    "reduce_scatter": "total_msg_size",
    "allgather": "total_msg_size",
    "alltoall": "total_msg_size",
}
# Further conditions. The MPI default stays for the user's own operations, for few elements, and for an
# alltoall in place, which not every algorithm supports.
_GUARDS = {
    "alltoall": ("is_sendbuf_inplace=no", "is_sendbuf_inplace=yes", None),
    "allreduce": ("is_op_built_in=yes", "is_op_built_in=no", "count<pow2"),
    "reduce": ("is_op_built_in=yes", "is_op_built_in=no", "count<pow2"),
    "reduce_scatter": ("is_commutative=yes", "is_commutative=no", None),
}


def find_mpich(name: str) -> Path:
    """The shared object of the MPICH with that name, such as `MPICH 4.0.2`."""
    for install in mpi.installs():
        if install.launcher.version and f"MPICH {install.launcher.version}" == name:
            return mpich_library(install.launcher)
    raise StrettoError(
        f"{name} was not found in STRETTO_MPI_PREFIXES, .mpi/ or PATH; its shared object is needed, since "
        f"rules are added to its own"
    )


def mpich_library(launcher: mpi.Launcher) -> Path:
    """The shared object that belongs to a launcher. Debian's has another name."""
    folders = [launcher.prefix / "lib", *sorted(launcher.prefix.glob("lib/*-linux-gnu*"))]
    candidates = [folder / name for folder in folders for name in ("libmpi.so.12", "libmpich.so.12")]
    for file in candidates:
        if file.is_file() and b"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE" in file.read_bytes():
            return file
    raise StrettoError(f"{launcher.path}: no MPI library was found beside it")


def own_tree(library: Path) -> Json:
    """The tree of conditions in an MPICH's shared object, by which it chooses algorithms."""
    for text in re.findall(rb'\{"collective=[^\0]*', library.read_bytes()):
        if b"algorithm=MPIR_Allreduce_intra" in text:
            tree: Json = json.loads(text)
            return tree
    raise StrettoError(f"{library}: there is no tree in it by which MPICH 4 and 5 choose algorithms")


def add_mpich_rules(settings: LibrarySettings, rule_sets: Sequence[RuleSet], library: Path | None) -> None:
    """Add the rules to the tree in MPICH's shared object, and the variable that names the new tree."""
    if library is None:
        raise RuntimeError("MPICH's shared object is needed")
    tree = own_tree(library)
    has_rules = False
    for one in sorted(rule_sets, key=lambda one: -one.ranks):
        branch = tree.get(f"collective={one.call}", {})
        if "comm_type=intra" not in branch or one.call.removeprefix("i") not in _SIZES:
            settings.remarks.append(f"{one.call}: left out, this MPICH has no rules by size for it")
            continue
        branch["comm_type=intra"] = _for_ranks(one, branch["comm_type=intra"])
        has_rules = True
    if has_rules:
        settings.files[""] = json.dumps(tree, indent=1) + "\n"
        settings.variables["MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"] = PATH


def _for_ranks(one: RuleSet, own: Json) -> Json:
    collective = one.call.removeprefix("i")
    sized = _by_size(one, collective, own)
    guarded: Json = sized
    if collective in _GUARDS:
        yes, no, few = _GUARDS[collective]
        guarded = {yes: {few: own, "count=any": sized} if few else sized, no: own}
    return {f"comm_size<={one.ranks - 1}": own, f"comm_size<={one.ranks}": guarded, "comm_size=any": own}


def _by_size(one: RuleSet, collective: str, own: Json) -> Json:
    prefix = ("I" + collective if one.call.startswith("i") else collective.capitalize()) + "_intra_"
    conditions: Json = {}
    for rule, after in zip(one.rules, [*one.rules[1:], None], strict=True):
        what = _SIZES[collective]
        condition = f"{what}=any" if after is None else f"{what}<{after.begin}"
        conditions[condition] = (
            own if rule.algorithm is None else {f"algorithm=MPIR_{prefix}{rule.algorithm}": {}}
        )
    return conditions
