# SPDX-License-Identifier: Apache-2.0
"""Settings for Intel MPI 2021.19: I_MPI_ADJUST_*, lists of algorithms with message sizes.

For sizes that no entry covers, Intel MPI takes the next entry, never its default. If an entry names a number
of processes as well, its sizes do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from stretto.launch.settings.rules import LibrarySettings, RuleSet

# A list is exported even if its algorithms are a little slower than the MPI default at some sizes.
_LEAST_GAIN = 0.97
# For other collectives, the message size may be that of a block.
_OF_KNOWN_SIZE = ("allreduce", "bcast", "reduce", "reduce_scatter", "allgather")
_MOST_BYTES = (1 << 31) - 1


def add_intel_mpi_rules(settings: LibrarySettings, rule_sets: Sequence[RuleSet]) -> None:
    """Add a variable for each collective."""
    for one in rule_sets:
        if one.call.removeprefix("i") not in _OF_KNOWN_SIZE:
            settings.remarks.append(f"{one.call}: left out: it is not known by which size Intel MPI chooses")
            continue
        # Sizes that no entry covers would take the next entry, so the entries must leave no gap.
        known = [rule for rule in one.rules if rule.is_known]
        worse = [rule for rule in known if rule.algorithm is None or (rule.gain or 1.0) < _LEAST_GAIN]
        if worse:
            settings.remarks.append(
                f"{one.call}: left out: from {worse[0].begin} bytes on the MPI default is better than any "
                f"algorithm, and Intel MPI cannot keep it for some sizes only"
            )
            continue
        begins = [0, *(rule.begin for rule in known[1:])]
        ends = [begin - 1 for begin in begins[1:]] + [_MOST_BYTES]
        text = ";".join(
            f"{rule.algorithm}:{begin}-{end}" for rule, begin, end in zip(known, begins, ends, strict=True)
        )
        settings.variables[f"I_MPI_ADJUST_{one.call.upper()}"] = text
        sizes = ", and for messages that were not measured" if len(known) < len(one.rules) else ""
        settings.remarks.append(f"{one.call}: Intel MPI applies this to communicators of any size{sizes}")
