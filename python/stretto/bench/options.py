# SPDX-License-Identifier: Apache-2.0
"""What the options of commands that measure collectives mean, in real time and in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from stretto.spec.checks import check_spec, split_specs
from stretto.spec.collectives import COLLECTIVES, Collective
from stretto.spec.native import library_name
from stretto.support.console import Bar
from stretto.support.errors import StrettoError


class InPlace(StrEnum):
    """Whether the calls give MPI_IN_PLACE."""

    NO = "no"
    YES = "yes"
    BOTH = "both"


class ElementType(StrEnum):
    """The elements of the messages."""

    FLOAT = "float"
    DOUBLE = "double"
    INT32 = "int32"


def find_collective(name: str) -> Collective:
    """The collective of that name. Raises StrettoError for one that cannot be measured."""
    if name not in COLLECTIVES:
        raise StrettoError(f"{name}: the collectives that can be measured are {', '.join(COLLECTIVES)}")
    return COLLECTIVES[name]


def check_call(collective: Collective, root: int, in_place: InPlace) -> None:
    """Refuse a root or a place that the collective does not have."""
    if root and not collective.has_root:
        raise StrettoError(f"--root {root}: {collective.function} has no root")
    if in_place != InPlace.NO and not collective.goes_in_place:
        raise StrettoError(f"--in-place {in_place.value}: {collective.function} has no form in place")


def parse_specs(text: str, collective: Collective) -> list[str]:
    """The specs of a list, each once. Raises StrettoError for one that cannot be read."""
    specs = split_specs(text)
    for spec in specs:
        # What the library has of its own, the measuring program knows.
        if library_name(spec) is None:
            check_spec(collective.algorithms, spec)
    return specs


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float, float], None]]:
    """A bar while the block runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
