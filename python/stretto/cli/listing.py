# SPDX-License-Identifier: Apache-2.0
"""The list of all commands: those of Stretto, and those that other distributions add.

A distribution adds commands by an entry point in the group `stretto.commands`, which names a mapping from
their names to lines. Only a word that is no command of Stretto's makes `stretto` look for them: that takes
time, which `stretto run` need not pay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

GROUP = "stretto.commands"


@dataclass(frozen=True)
class Line:
    """A command in the list of all."""

    group: str
    """What it is for: the heading above it."""
    about: str
    """The beginning of what its own help says."""
    tools: tuple[str, ...] = ()
    """The packages of the extra `tools` that it cannot do without."""
    room: str = "stretto.cli"
    """The package with its module. The module, and what it calls the command, have the command's name."""


_USE, _MEASURE, _UNDERSTAND = "Use", "Measure", "Understand"

COMMANDS = {
    "run": Line(_USE, "Run an MPI or PyTorch program with Stretto under it."),
    "exec": Line(_USE, "Run one rank of a program with Stretto under it."),
    "doctor": Line(_USE, "Check the installation: what is there, what is missing, and how to get it."),
    "export": Line(_USE, "Write settings for the MPI library itself."),
    "lib": Line(_USE, "Print the path of the shared object to preload."),
    "config": Line(_USE, "Print how to link."),
    "man": Line(_USE, "Print the manual page."),
    "tune": Line(_MEASURE, "Measure which spec is fastest at which size."),
    "bench": Line(
        _MEASURE, "Measure a collective by several specs, interleaved in one run, and check every result."
    ),
    "profile": Line(_MEASURE, "Run an MPI program and profile its collectives.", ("pydantic",)),
    "top": Line(_MEASURE, "Show what the ranks of this node do."),
    "trace": Line(_MEASURE, "Merge the traces of all ranks; list slow collectives."),
    "calibrate": Line(
        _MEASURE, "Measure latencies, bandwidths, limits and arithmetic of a cluster.", ("numpy", "scipy")
    ),
    "lab": Line(_MEASURE, "An emulated cluster on this machine (needs root)."),
    "explain": Line(_UNDERSTAND, "Show which specs a job uses."),
    "fabric": Line(_UNDERSTAND, "What jobs have found out about networks: list, show or forget it."),
    "algorithms": Line(_UNDERSTAND, "List the algorithms."),
    "show": Line(_UNDERSTAND, "Draw the schedule of an algorithm as a space-time diagram."),
    "verify": Line(_UNDERSTAND, "Prove that algorithms are correct."),
    "report": Line(_UNDERSTAND, "Make one self-contained HTML page.", ("jinja2", "matplotlib", "pydantic")),
}
"""The commands of Stretto itself."""


def added_commands() -> Iterator[tuple[str, Mapping[str, Line] | Exception]]:
    """The commands of each other distribution, or why they cannot be loaded, by its name."""
    from importlib import metadata  # noqa: PLC0415  slow to load

    for entry in metadata.entry_points(group=GROUP):
        try:
            yield entry.name, entry.load()
        except Exception as error:  # one that is broken must not break the others
            yield entry.name, error
