# SPDX-License-Identifier: Apache-2.0
"""Measures the specs of one kind of call, and keeps track of the time that is left."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Protocol

from stretto.spec.native import NATIVE, library_name
from stretto.support.errors import StrettoError
from stretto.support.units import format_bytes
from stretto.tune.findings import CallKind, Samples
from stretto.tune.times import Times


class Bench(Protocol):
    """Measures calls, and has the clock."""

    def measure(
        self, kind: CallKind, size: int, specs: Sequence[str], repetitions: int, seconds: float
    ) -> Samples:
        """Returns the seconds of a call by each spec, interleaved. Samples of one index belong together.

        `seconds`: the expected duration. Specs that cannot be measured or give wrong results are missing.
        """

    def elapsed(self) -> float:
        """Returns the seconds since the tuning began."""


class Measuring:
    """Measures one kind of call until a given time of the bench's clock."""

    def __init__(
        self, bench: Bench, kind: CallKind, times: Times, until: float, *, library_apart: bool = False
    ) -> None:
        """`library_apart`: the library's own algorithms can be measured, but not chosen (see Search)."""
        self.kind = kind
        self.times = times
        self.library_apart = library_apart
        self.until = until
        self._bench = bench

    def elapsed(self) -> float:
        """Returns the seconds since the tuning began."""
        return self._bench.elapsed()

    def left(self) -> float:
        """Returns the seconds that are left; below 0 once the time is over."""
        return self.until - self._bench.elapsed()

    def end_now(self) -> None:
        """Leave no time for anything else."""
        self.until = self._bench.elapsed()

    def name_at(self, size: int) -> str:
        """Returns the kind and size for people: `allreduce 64 KiB`."""
        return f"{self.kind.name} {format_bytes(size)}"

    def may_be_chosen(self, spec: str) -> bool:
        """Whether a table can have this spec as a choice other than `native`."""
        return spec != NATIVE and not (self.library_apart and library_name(spec) is not None)

    def measure(self, size: int, specs: Sequence[str], repetitions: int) -> Samples:
        """Returns fresh samples. Specs may be missing, but never `native`."""
        specs = list(dict.fromkeys(specs))
        known = self.times.at(size)
        new = [spec for spec in specs if spec not in known]
        cost = self.times.cost(size, specs) * repetitions + 2 * self.times.cost(size, new) if known else 0.0
        samples = self._bench.measure(self.kind, size, specs, repetitions, cost)
        if NATIVE in specs and NATIVE not in samples:
            raise StrettoError(
                f"{self.kind.name} of {format_bytes(size)}: the MPI default gives a wrong result"
            )
        for spec, seconds in samples.items():
            known[spec] = statistics.median(seconds)
        return samples

    def measure_twin(self, size: int, specs: Iterable[str], repetitions: int) -> Samples:
        """Returns samples of the twin's call by the specs that both can use; empty without a twin."""
        twin = self.kind.twin
        specs = [spec for spec in specs if not library_name(spec)]
        if twin is None or specs == [NATIVE]:
            return {}
        cost = self.times.cost(size, specs) * repetitions
        return self._bench.measure(twin, size, specs, repetitions, cost)
