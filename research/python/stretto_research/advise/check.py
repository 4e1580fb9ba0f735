# SPDX-License-Identifier: Apache-2.0
"""Checks a sample of the model's advice by simulation with SimGrid's SMPI."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.model.walker import Call, Model
from stretto.spec.native import NATIVE
from stretto.support.errors import StrettoError
from stretto_research.advise.search import Advice, best_of, library_seconds
from stretto_research.simulate.jobs import Job, seconds_of
from stretto_research.simulate.library_choices import LIBRARIES, library_choice
from stretto_research.simulate.platforms import platform_of_machine
from stretto_research.simulate.smpi import Progress

MOST_RANKS = 64
"""The most ranks that can be simulated within seconds."""
OURS = "stretto"
APART = 0.2
"""The relative difference from which on the simulation decides."""
_SAMPLE = (1 << 10, 256 << 10, 16 << 20)
_TRIES = 2


@dataclass(frozen=True, slots=True)
class Checked:
    """The times of a call by the model and by SMPI."""

    bytes: int
    who: str
    """`stretto`, or a library with its own choice."""
    spec: str | None
    """The spec that was modelled; None for the best textbook algorithm."""
    walker: float
    smpi: float | None
    """None if the simulation failed."""
    why: str = ""
    algorithm: str = ""
    """The algorithm of a library, as SMPI names it."""

    @property
    def off_by(self) -> float:
        """The factor that corrects the model's time."""
        return 1.0 if self.smpi is None else self.smpi / self.walker

    @property
    def difference(self) -> float | None:
        """The relative error of the model against SMPI."""
        return None if self.smpi is None else self.walker / self.smpi - 1

    @property
    def is_apart(self) -> bool:
        """Whether model and SMPI disagree, in either direction."""
        return max(self.off_by, 1 / self.off_by) >= 1 + APART


@dataclass(frozen=True, slots=True)
class Check:
    """The checked sample, and the nodes on which it was simulated."""

    nodes: int
    ppn: int
    rows: list[Checked]
    advice: list[Advice]
    """The advice after the check: where model and simulation disagree, the simulation decides."""

    def of(self, size: int) -> list[Checked]:
        """The rows of a size. If several are Stretto's, the last one is advised."""
        return [row for row in self.rows if row.bytes == size]


def sample_shape(nodes: int, ppn: int) -> tuple[int, int]:
    """The nodes and ranks per node that can be simulated within seconds, with room for two nodes."""
    ppn = min(ppn, MOST_RANKS // 2)
    return min(nodes, MOST_RANKS // ppn), ppn


def sample_of(advice: Sequence[Advice]) -> list[Advice]:
    """The advice for a short, a medium and a long message, or for the sizes nearest to them."""
    nearest = [
        min(advice, key=lambda one: abs(one.bytes.bit_length() - size.bit_length())) for size in _SAMPLE
    ]
    return list({one.bytes: one for one in nearest}.values())


def check(
    model: Model,
    collective: str,
    nodes: int,
    ppn: int,
    advice: Sequence[Advice],
    progress: Progress | None = None,
) -> Check:
    """Simulate the sample, and decide by simulation where the model disagrees with it.

    At such a size, the model's best candidates are simulated as well, and the neighbouring sizes are
    checked. If a simulation fails, its row says so.
    """
    where = sample_shape(nodes, ppn)
    simulator = _Simulator(model, collective, *where)
    rows: dict[int, list[Checked]] = {}
    found = {one.bytes: one for one in advice}
    sizes = sorted(found)
    pending = [one.bytes for one in sample_of(advice)]
    most = max(pending)  # longer messages take too long to simulate
    while pending:
        size = pending.pop(0)
        rows[size] = simulator.rows(found[size])
        if any(row.is_apart for row in rows[size]):
            candidates = simulator.rows_of_specs(size, found[size].candidates, rows[size])
            found[size] = _by_simulation(model, collective, (nodes, ppn), found[size], rows[size], candidates)
            rows[size] = _with_choice(rows[size], candidates, found[size].spec)
            at = sizes.index(size)
            beside = sizes[max(0, at - 1) : at + 2]
            pending += [one for one in beside if one not in rows and one not in pending and one <= most]
        if progress:
            progress(len(rows), len(rows) + len(pending))
    in_order = [row for size in sorted(rows) for row in rows[size]]
    return Check(*where, in_order, [found[one.bytes] for one in advice])


class _Simulator:
    """Times calls of one collective by model and SMPI, on the simulated nodes."""

    def __init__(self, model: Model, collective: str, nodes: int, ppn: int) -> None:
        self._model = model
        self._collective = collective
        self._nodes = nodes
        self._ppn = ppn
        self._platform = platform_of_machine(model.machine, nodes, ppn)

    def rows(self, one: Advice) -> list[Checked]:
        """The rows of the advised spec and of each library's own choice."""
        return self.rows_of_specs(one.bytes, [one.spec], []) + [
            self._of_library(name, one) for name in LIBRARIES
        ]

    def rows_of_specs(self, size: int, specs: Sequence[str], known: Sequence[Checked]) -> list[Checked]:
        """The rows of specs that fit these nodes; `known` rows are not simulated again."""
        call = self._call(size)
        there = {row.spec: row for row in known if row.who == OURS}
        fitting = [spec for spec in specs if spec != NATIVE and self._model.fits(call, spec)]
        return [there[spec] if spec in there else self._of_spec(call, spec) for spec in fitting]

    def _call(self, size: int) -> Call:
        return Call(self._collective, size, f"nodes={self._nodes},ppn={self._ppn}")

    def _of_spec(self, call: Call, spec: str) -> Checked:
        job = Job(self._platform, self._nodes, spec, (call.bytes,), self._ppn, self._collective)
        return _checked(job, OURS, spec, self._model.predict(call, spec).seconds)

    def _of_library(self, library: str, one: Advice) -> Checked:
        choice = library_choice(library, self._collective, self._nodes * self._ppn, self._ppn, one.bytes)
        # Some of SMPI's algorithms give wrong results, but their time is right.
        job = Job(
            self._platform, self._nodes, NATIVE, (one.bytes,), self._ppn, self._collective, library,
            data=False,
        )  # fmt: skip
        seconds = library_seconds(self._model, self._call(one.bytes), choice)
        return _checked(job, library, choice.spec, seconds, choice.algorithm)


def _by_simulation(
    model: Model,
    collective: str,
    shape: tuple[int, int],
    one: Advice,
    rows: Sequence[Checked],
    candidates: Sequence[Checked],
) -> Advice:
    """The advice by simulation: the best candidate, against the libraries.

    On more nodes than were simulated, times are the model's, corrected by its error for that algorithm.
    """
    call = Call(collective, one.bytes, f"nodes={shape[0]},ppn={shape[1]}")
    times = {
        row.spec: model.predict(call, row.spec).seconds * row.off_by
        for row in candidates
        if row.spec and row.smpi
    }
    by_name = {row.who: row for row in rows if row.who != OURS}
    libraries = tuple(
        replace(item, seconds=item.seconds * by_name[item.library].off_by)
        if item.choice.algorithm == by_name[item.library].algorithm
        else item
        for item in one.libraries
    )
    if not times and one.spec != NATIVE:  # all simulations of our specs failed
        times = {one.spec: one.seconds}
    best = min(times, key=times.__getitem__, default=NATIVE)
    spec, seconds = best_of(best, times.get(best, math.inf), libraries)
    return replace(one, spec=spec, seconds=seconds, libraries=libraries, by_simulation=True)


def _with_choice(rows: list[Checked], candidates: Sequence[Checked], spec: str) -> list[Checked]:
    """The rows, with the row of the spec that is advised now after Stretto's other rows."""
    more = [row for row in candidates if row.spec == spec and row not in rows]
    ours = [row for row in rows if row.who == OURS]
    return [*ours, *more, *rows[len(ours) :]]


def _checked(job: Job, who: str, spec: str | None, walker: float, algorithm: str = "") -> Checked:
    size = job.sizes[0]
    why = ""
    for _ in range(_TRIES):  # under load, one simulation in several hundred dies
        try:
            return Checked(size, who, spec, walker, seconds_of([job])[0][size], algorithm=algorithm)
        except StrettoError as error:
            why = str(error)
    return Checked(size, who, spec, walker, None, why, algorithm)
