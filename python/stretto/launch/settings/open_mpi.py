# SPDX-License-Identifier: Apache-2.0
"""Settings for Open MPI 4.1 and 5.0: rule files of coll/tuned and coll/han.

coll/tuned reads rules by collective, communicator size and message size; algorithm 0 is the MPI default. With
several ranks on a node, Open MPI 5 asks coll/han first. coll/han has its own rule file, which can pass a call
on to coll/tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from stretto.launch.settings.rules import PATH, LibrarySettings, RuleSet
from stretto.support.units import parse_bytes

# The number of each collective in a rule file.
_IDS = {"allgather": 0, "allreduce": 2, "alltoall": 3, "bcast": 7, "reduce": 11, "reduce_scatter": 12}
ALGORITHMS = {
    "allgather": (
        "linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc", "sparbit",
        "direct-messaging",
    ),
    "allreduce": (
        "basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner",
        "allgather_reduce",
    ),
    "alltoall": ("linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"),
    "bcast": (
        "basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial",
        "scatter_allgather", "scatter_allgather_ring",
    ),
    "reduce": (
        "linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner", "knomial",
    ),
    "reduce_scatter": ("non-overlapping", "recursive_halving", "ring", "butterfly"),
}  # fmt: skip
"""The names of each collective's algorithms, in the order of their numbers, from 1 on."""
_HAN_GLOBAL_COMMUNICATOR = 2
_HAN_TO_TUNED, _HAN_TO_ITSELF = "tuned", "han"
_HAN_COLLECTIVES = ("allgather", "allreduce", "bcast", "reduce")


def add_open_mpi_rules(settings: LibrarySettings, rule_sets: Sequence[RuleSet], version: int) -> None:
    """Add the rule files and the variables that name them."""
    by_call: dict[str, list[RuleSet]] = {}
    for one in rule_sets:
        if _has_rules(one, settings):
            by_call.setdefault(one.call, []).append(one)
    if not by_call:
        return
    settings.files[""] = _numbers(_tuned_rules(by_call, settings))
    settings.variables["OMPI_MCA_coll_tuned_use_dynamic_rules"] = "1"
    settings.variables["OMPI_MCA_coll_tuned_dynamic_rules_filename"] = PATH
    by_han = {
        call: several
        for call, ones in by_call.items()
        if call in _HAN_COLLECTIVES and (several := [one for one in ones if one.ppn > 1 and one.nodes > 1])
    }
    if version >= 5 and by_han:
        settings.files[".han"] = _numbers(_han_rules(by_han))
        settings.variables["OMPI_MCA_coll_han_use_dynamic_file_rules"] = "1"
        settings.variables["OMPI_MCA_coll_han_dynamic_rules_filename"] = f"{PATH}.han"


def _has_rules(one: RuleSet, settings: LibrarySettings) -> bool:
    if one.call in _IDS:
        return True
    settings.remarks.append(f"{one.call}: left out, the library has no rules by size for it")
    return False


Line = tuple[int | str, ...]
"""A line of a rule file: numbers, and a comment."""


def _numbers(lines: list[Line]) -> str:
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def _tuned_rules(by_call: Mapping[str, Sequence[RuleSet]], settings: LibrarySettings) -> list[Line]:
    lines: list[Line] = [(len(by_call), "# collectives")]
    for call, ones in sorted(by_call.items(), key=lambda item: _IDS[item[0]]):
        lines.append((_IDS[call], f"# {call}"))
        lines += _by_ranks(ones, lambda one: _tuned_messages(one, settings), (0, 0, 0, 0))
    return lines


def _by_ranks(ones: Sequence[RuleSet], messages: Callable[[RuleSet], list[Line]], none: Line) -> list[Line]:
    """The rules of each communicator size, each followed by `none`: a rule holds up to the next size."""
    rules = {1: [none]}  # coll/han requires a rule for 1 rank
    for one in sorted(ones, key=lambda one: one.ranks):
        rules[one.ranks] = messages(one)
        rules[one.ranks + 1] = [none]
    lines: list[Line] = [(len(rules), "# communicator sizes")]
    for ranks, rows in sorted(rules.items()):
        lines += [(ranks, "# ranks and more"), (len(rows), "# message sizes"), *rows]
    return lines


def _tuned_messages(one: RuleSet, settings: LibrarySettings) -> list[Line]:
    rows: list[Line] = []
    for rule in one.rules:
        name, segment = _split_segment(rule.algorithm or "")
        known = ALGORITHMS[one.call]
        if rule.algorithm is not None and name not in known:
            settings.remarks.append(
                f"{one.call}: Open MPI's number of {name} is not known; the MPI default stays"
            )
        number = known.index(name) + 1 if name in known else 0
        rows.append((rule.begin, number, 0, segment))
    return rows


def _split_segment(algorithm: str) -> tuple[str, int]:
    name, _, segment = algorithm.partition(":segment_bytes=")
    return name, parse_bytes(segment) if segment else 0


def _han_rules(by_call: Mapping[str, Sequence[RuleSet]]) -> list[Line]:
    def messages(one: RuleSet) -> list[Line]:
        return [
            (rule.begin, _HAN_TO_ITSELF if rule.algorithm is None else _HAN_TO_TUNED) for rule in one.rules
        ]

    lines: list[Line] = [(len(by_call), "# collectives")]
    for call, ones in sorted(by_call.items(), key=lambda item: _IDS[item[0]]):
        lines.append((_IDS[call], f"# {call}"))
        lines += [(1, "# topologic level"), (_HAN_GLOBAL_COMMUNICATOR, "# the whole communicator")]
        lines += _by_ranks(ones, messages, (0, _HAN_TO_ITSELF))
    return lines
