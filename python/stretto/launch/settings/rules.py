# SPDX-License-Identifier: Apache-2.0
"""Rules by message size, and the settings of a library that carry them out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from stretto.support.files import write_atomically

PATH = "{path}"
"""The placeholder in a variable's value for the path of the library's file."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The algorithm for messages from `begin` bytes on."""

    begin: int
    algorithm: str | None
    """None for the MPI default."""
    gain: float | None = None
    """How many times faster the algorithm is than the MPI default."""
    is_known: bool = True
    """Whether these sizes were measured; if not, the MPI default stays."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a collective for communicators with a number of ranks."""

    call: str
    nodes: int
    ppn: int
    ranks: int
    """0 if nodes have unequal numbers of ranks."""
    rules: tuple[Rule, ...]

    @property
    def says_something(self) -> bool:
        """Whether any rule differs from the MPI default."""
        return any(rule.algorithm is not None for rule in self.rules)


@dataclass
class LibrarySettings:
    """Environment variables for a library, and the files that they name."""

    variables: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Texts of the files, by the suffix of each file's name."""
    remarks: list[str] = field(default_factory=list)
    """Notes for the user, such as which rules were left out, and why."""

    def written(self, path: Path) -> dict[str, str]:
        """The variables, after writing the files: `path`, and others whose names are `path` and a suffix."""
        for end, text in self.files.items():
            write_atomically(path.with_name(path.name + end), text)
        return {name: value.replace(PATH, str(path)) for name, value in self.variables.items()}
