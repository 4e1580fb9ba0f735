# SPDX-License-Identifier: Apache-2.0
"""Finds the algorithms and collectives that a name on the command line means."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stretto import _core
from stretto.support.errors import StrettoError


@dataclass(frozen=True, slots=True)
class Recipe:
    """An algorithm of a collective with its parameters: `smp(ring)` of allreduce."""

    collective: str
    text: str

    def __str__(self) -> str:
        return f"{self.collective} {self.text}"


def algorithm_of(text: str) -> str:
    """The name of the algorithm at the beginning of a recipe."""
    return re.split("[(:]", text, maxsplit=1)[0]


def check_collective(collective: str) -> str:
    """The name itself. Raises StrettoError if there is no such collective."""
    known = _core.collectives()
    if collective not in known:
        raise StrettoError(
            f"there is no collective {collective!r}{_core.known_names_text(collective, known)}"
        )
    return collective


def sized_collectives() -> list[str]:
    """The collectives whose ranks know the size of the message, so that a spec can be chosen by it."""
    return [one for one in _core.collectives() if not _core.is_never_cut(one)]


def check_sized(collective: str) -> str:
    """The name itself. Raises StrettoError if no spec can be chosen by the size of its messages."""
    check_collective(collective)
    if collective in sized_collectives():
        return collective
    raise StrettoError(
        f"{collective}: its ranks know no common size, by which specs could be chosen; "
        f"expected some of {', '.join(sized_collectives())}"
    )


def collectives_with(name: str, collective: str | None = None) -> list[str]:
    """The collectives that have the algorithm of a recipe."""
    if collective is not None:
        return [check_collective(collective)]
    algorithm = algorithm_of(name)
    found = [one.collective for one in _core.algorithms() if one.name == algorithm]
    if not found:
        known = list(dict.fromkeys(one.name for one in _core.algorithms()))
        raise StrettoError(f"there is no algorithm {algorithm!r}{_core.known_names_text(algorithm, known)}")
    return found


def find_recipe(name: str, collective: str | None = None) -> Recipe:
    """The recipe that a name means; that of allreduce if several collectives have it."""
    name, collective = _split(name, collective)
    found = collectives_with(name, collective)
    if len(found) > 1 and "allreduce" not in found:
        raise StrettoError(f"{name} is an algorithm of {' and of '.join(found)}: say which by --collective")
    return read_recipe("allreduce" if "allreduce" in found else found[0], name)


def find_recipes(name: str, collective: str | None = None) -> list[Recipe]:
    """All recipes that a name means: all samples of an algorithm, or one recipe of every collective."""
    name, collective = _split(name, collective)
    found = []
    error: StrettoError | None = None
    for one in collectives_with(name, collective):
        samples = [text for text in _core.sample_recipes(one) if algorithm_of(text) == name]
        try:
            found += [Recipe(one, text) for text in samples] or [read_recipe(one, name)]
        except StrettoError as this:  # the parts of smp(ring) differ between collectives
            error = error or this
    if error is not None and not found:
        raise error
    return found


def all_recipes(collective: str | None = None) -> list[Recipe]:
    """The sample recipes of a collective, or of all collectives."""
    chosen = _core.collectives() if collective is None else [check_collective(collective)]
    return [Recipe(one, text) for one in chosen for text in _core.sample_recipes(one)]


def read_recipe(collective: str, text: str) -> Recipe:
    """The recipe of a text, in its canonical spelling."""
    try:
        spec = _core.parse_spec(text, collective)
    except ValueError as error:
        raise StrettoError(str(error)) from None
    if spec.algorithm == "native":
        raise StrettoError("native is the MPI default: Stretto has no schedule for it")
    if str(spec) != spec.recipe:
        raise StrettoError(f"{text}: all segments have the same schedule; give {spec.recipe}")
    return Recipe(collective, spec.recipe)


def _split(name: str, collective: str | None) -> tuple[str, str | None]:
    """The recipe and the collective of `bcast/chain`."""
    before, slash, after = name.partition("/")
    if not slash:
        return name, collective
    if collective not in (None, before):
        raise StrettoError(f"{name} is not of --collective {collective}")
    return after, before
