# SPDX-License-Identifier: Apache-2.0
"""Kinds of files that other distributions add to the report.

A distribution adds a kind by an entry point in the group `stretto.report`. Its name is the `format` of the
files, and it names a Kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from stretto.report.page import Section
from stretto.support.errors import StrettoError

GROUP = "stretto.report"


def _nowhere(_found: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Kind:
    """How files of a kind are read and shown."""

    read: Callable[[dict[str, Any], Path], Any]
    """Reads the JSON object of a file. Raises StrettoError if it is wrong."""
    sections: Callable[[Sequence[Any]], Sequence[Section]]
    """The sections for what was read from all files of the kind."""
    where: Callable[[Any], str] = _nowhere
    """The place of the measurement, for the subtitle; empty if there is none."""


def find_kind(name: str) -> Kind | None:
    """The kind of files whose `format` is this; None if no distribution adds it."""
    for entry in metadata.entry_points(group=GROUP, name=name):
        try:
            found = entry.load()
        except Exception as error:  # another distribution's fault
            raise StrettoError(f"what shows files of the kind {name} cannot be loaded: {error}") from None
        assert isinstance(found, Kind)
        return found
    return None
