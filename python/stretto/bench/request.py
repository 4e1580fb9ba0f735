# SPDX-License-Identifier: Apache-2.0
"""The measurement that `stretto bench` is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from stretto import _core
from stretto.bench.options import (
    ElementType,
    InPlace,
    check_call,
    check_forms_without_library,
    check_without_library,
    find_collective,
    parse_specs,
)
from stretto.results.runs import BLOCKING, FORMS, NON_BLOCKING
from stretto.spec.collectives import Collective
from stretto.support.errors import StrettoError


def _short_list(algorithms: str) -> str:
    """Stretto's choice, and the recipes that compete with it on any topology."""
    recipes = dict.fromkeys(
        str(_core.parse_spec(one.recipe, algorithms)) for one in _core.short_list(algorithms)
    )
    return ",".join(["auto", *recipes])


@dataclass(frozen=True)
class Request:
    """A collective, and the options on which its measurement depends."""

    collective: str
    specs: str
    """Separated by commas; empty for the usual specs."""
    sizes: list[int]
    forms: str = ""
    """Separated by commas; empty for the usual form."""
    overlap: bool = False
    test_every: float | None = None
    """Seconds between calls of MPI_Test, with `overlap`."""
    root: int = 0
    in_place: InPlace = InPlace.NO
    element: ElementType = ElementType.FLOAT
    repetitions: int = 10
    min_seconds: float = 0.0
    max_seconds: float = 30.0
    warmup: int = 3
    seed: int = 1
    skew: float | None = None
    """The part of the message that the block of rank 0 holds; None for equal blocks."""

    def arguments(self, *, has_library: bool = True) -> list[str]:
        """The measuring program's arguments. `has_library`: whether the job has MPI.

        Raises StrettoError for options that do not fit together.
        """
        collective = find_collective(self.collective)
        check_call(collective, self.root, self.in_place, self.skew)
        if self.test_every is not None and not self.overlap:
            raise StrettoError("--test-every needs --overlap")
        return [
            "--collective", self.collective,
            "--specs", ",".join(self._specs(collective, has_library=has_library)),
            "--sizes", ",".join(map(str, self.sizes)),
            "--in-place", self.in_place.value,
            "--root", str(self.root),
            "--type", self.element.value,
            "--repetitions", str(self.repetitions),
            "--min-seconds", str(self.min_seconds),
            "--max-seconds", str(self.max_seconds),
            "--warmup", str(self.warmup),
            "--seed", str(self.seed),
            "--forms", ",".join(self._forms(has_library=has_library)),
            "--overlap", "yes" if self.overlap else "no",
            "--test-every", str(self.test_every or 0),
            *(("--skew", str(self.skew)) if self.skew is not None else ()),
        ]  # fmt: skip

    def _specs(self, collective: Collective, *, has_library: bool) -> list[str]:
        text = self.specs or ("native,auto" if has_library else _short_list(collective.algorithms))
        specs = parse_specs(text, collective)
        if not has_library:
            check_without_library(specs)
        return specs

    def _forms(self, *, has_library: bool) -> list[str]:
        text = self.forms or (NON_BLOCKING if self.overlap or not has_library else BLOCKING)
        forms = list(dict.fromkeys(form.strip() for form in text.split(",")))
        for form in forms:
            if form not in FORMS:
                raise StrettoError(
                    f"--forms {text}: expected some of {', '.join(FORMS)}, with commas between"
                )
        if not has_library:
            check_forms_without_library(forms)
        if self.overlap and BLOCKING in forms:
            raise StrettoError("--overlap: nothing overlaps with a blocking call; give other --forms")
        return forms
