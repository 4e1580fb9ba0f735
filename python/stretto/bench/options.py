# SPDX-License-Identifier: Apache-2.0
"""Reads options of commands that measure collectives, in real time or in virtual time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from stretto import _core
from stretto.results.runs import NON_BLOCKING
from stretto.spec.checks import check_spec, split_specs
from stretto.spec.collectives import COLLECTIVES, Collective
from stretto.spec.native import NATIVE, library_name
from stretto.support.errors import StrettoError

_USUAL_SIZES = "1KiB..16MiB:4"


class InPlace(StrEnum):
    """Whether calls use MPI_IN_PLACE."""

    NO = "no"
    YES = "yes"
    BOTH = "both"


class ElementType(StrEnum):
    """The type of a message's elements."""

    FLOAT = "float"
    DOUBLE = "double"
    INT32 = "int32"


def find_collective(name: str) -> Collective:
    """The collective of that name. Raises StrettoError if it cannot be measured."""
    if name not in COLLECTIVES:
        known = _core.known_names_text(name, list(COLLECTIVES))
        raise StrettoError(f"there is no collective {name!r}{known}")
    return COLLECTIVES[name]


def check_call(collective: Collective, root: int, in_place: InPlace, skew: float | None = None) -> None:
    """Raise StrettoError if the collective has no root, no form in place, or no length for each rank."""
    if root and not collective.has_root:
        raise StrettoError(f"--root {root}: {collective.function} has no root")
    if in_place != InPlace.NO and not collective.goes_in_place:
        raise StrettoError(f"--in-place {in_place.value}: {collective.function} has no in-place form")
    if skew is not None and not collective.has_lengths:
        raise StrettoError(f"--skew {skew}: {collective.function} does not take a length for each rank")


def check_picture(collective: Collective, file: Path | None) -> None:
    """Raise StrettoError if the collective has no message size to draw over."""
    if file and not collective.has_message:
        raise StrettoError(f"--png {file}: {collective.function} has no message size to draw over")


def sizes_text(sizes: str | None, least: str | None, most: str | None, factor: int | None) -> str:
    """The sizes to measure as --sizes has them, if they may also be given as nccl-tests does.

    There K, M and G are powers of 1024. Raises StrettoError if both ways are used, or if the least size is
    missing.
    """
    if least is None and most is None and factor is None:
        return sizes or _USUAL_SIZES
    if sizes is not None:
        raise StrettoError(f"--sizes {sizes}: give either it or -b, -e and -f")
    if least is None:
        raise StrettoError("-e and -f need -b, the least size")
    begin, end = (
        re.sub("(?<=[0-9])([KMG])$", r"\1iB", one, flags=re.IGNORECASE) for one in (least, most or least)
    )
    return f"{begin}..{end}:{factor or 2}"


def parse_specs(text: str, collective: Collective) -> list[str]:
    """The specs of a list, each once. Raises StrettoError if one cannot be read."""
    specs = split_specs(text)
    for spec in specs:
        # Only the measuring program knows the names of the MPI library's own algorithms.
        if library_name(spec) is None:
            check_spec(collective.algorithms, spec)
    return specs


def check_without_library(specs: Sequence[str]) -> None:
    """Raise StrettoError if a spec leaves calls to an MPI library."""
    for spec in specs:
        if spec.startswith(NATIVE):
            raise StrettoError(f"--specs {spec}: a job without MPI (--mpi sockets) has no MPI library")


def check_forms_without_library(forms: Sequence[str]) -> None:
    """Raise StrettoError for forms that a job without MPI does not have."""
    for form in forms:
        if form != NON_BLOCKING:
            raise StrettoError(
                f"--forms {form}: jobs without MPI (--mpi sockets) have {NON_BLOCKING} calls only"
            )
