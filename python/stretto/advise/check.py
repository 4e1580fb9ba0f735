# SPDX-License-Identifier: Apache-2.0
"""Whether SimGrid's SMPI says the same as the walker, on a sample of what `stretto advise` says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stretto.advise.search import Advice, best_of, library_seconds
from stretto.model.walker import Call, Model
from stretto.simulate.jobs import Job, seconds_of
from stretto.simulate.library_choices import LIBRARIES, library_choice
from stretto.simulate.platforms import platform_of_machine
from stretto.simulate.smpi import Progress
from stretto.spec.native import NATIVE
from stretto.support.errors import StrettoError

MOST_RANKS = 64
"""What is simulated in seconds."""
OURS = "stretto"
APART = 0.2
"""So far from each other the simulation decides."""
_SAMPLE = (1 << 10, 256 << 10, 16 << 20)
_TRIES = 2


@dataclass(frozen=True, slots=True)
class Checked:
    """A call by the walker and by SMPI."""

    bytes: int
    who: str
    """`stretto`, or a library that is left to itself."""
    spec: str | None
    """What the walker took for it; None: the best of the textbook's algorithms."""
    walker: float
    smpi: float | None
    """None: SMPI could not carry it out."""
    why: str = ""
    algorithm: str = ""
    """Of a library, as SMPI calls it."""

    @property
    def off_by(self) -> float:
        """By what the walker's time is to be multiplied."""
        return 1.0 if self.smpi is None else self.smpi / self.walker

    @property
    def difference(self) -> float | None:
        """How much more time the walker says, as a part of SMPI's."""
        return None if self.smpi is None else self.walker / self.smpi - 1

    @property
    def is_apart(self) -> bool:
        """Whether they disagree, to either side."""
        return max(self.off_by, 1 / self.off_by) >= 1 + APART


@dataclass(frozen=True, slots=True)
class Check:
    """The whole sample, and the cluster on which it was taken."""

    nodes: int
    ppn: int
    rows: list[Checked]
    advice: list[Advice]
    """What was checked, by simulation where the walker was apart from it."""

    def of(self, size: int) -> list[Checked]:
        """The rows of a size; of several of ours the last is advised."""
        return [row for row in self.rows if row.bytes == size]


def sample_shape(nodes: int, ppn: int) -> tuple[int, int]:
    """As many of the nodes as are simulated in seconds, two at least."""
    ppn = min(ppn, MOST_RANKS // 2)
    return min(nodes, MOST_RANKS // ppn), ppn


def sample_of(advice: Sequence[Advice]) -> list[Advice]:
    """Of a short, a middle and a long message, or what is nearest to them."""
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
    """Simulate the sample, and where the walker is apart from that, its best candidates, too.

    Then the simulation decides, and the next sizes are looked at as well. What SMPI fails to carry out says
    so in its row.
    """
    where = sample_shape(nodes, ppn)
    simulator = _Simulator(model, collective, *where)
    rows: dict[int, list[Checked]] = {}
    found = {one.bytes: one for one in advice}
    sizes = sorted(found)
    pending = [one.bytes for one in sample_of(advice)]
    most = max(pending)  # longer ones take too long to simulate
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
    """Calls of one collective, by walker and SMPI, on as many nodes as are simulated."""

    def __init__(self, model: Model, collective: str, nodes: int, ppn: int) -> None:
        self._model = model
        self._collective = collective
        self._nodes = nodes
        self._ppn = ppn
        self._platform = platform_of_machine(model.machine, nodes, ppn)

    def rows(self, one: Advice) -> list[Checked]:
        """What is advised, and the libraries by themselves."""
        return self.rows_of_specs(one.bytes, [one.spec], []) + [
            self._of_library(name, one) for name in LIBRARIES
        ]

    def rows_of_specs(self, size: int, specs: Sequence[str], known: Sequence[Checked]) -> list[Checked]:
        """Of ours, as far as they fit here; those that are known are not simulated again."""
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
        # Some of SMPI's algorithms give wrong results, which their time does not care about.
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
    """The best of the candidates, and the libraries, by SMPI.

    On more nodes than were simulated: by the walker, times what it was off by for the same algorithm.
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
    if not times and one.spec != NATIVE:  # ours failed
        times = {one.spec: one.seconds}
    best = min(times, key=times.__getitem__, default=NATIVE)
    spec, seconds = best_of(best, times.get(best, math.inf), libraries)
    return replace(one, spec=spec, seconds=seconds, libraries=libraries, by_simulation=True)


def _with_choice(rows: list[Checked], candidates: Sequence[Checked], spec: str) -> list[Checked]:
    """What is advised now, beside what was advised by the walker."""
    more = [row for row in candidates if row.spec == spec and row not in rows]
    ours = [row for row in rows if row.who == OURS]
    return [*ours, *more, *rows[len(ours) :]]


def _checked(job: Job, who: str, spec: str | None, walker: float, algorithm: str = "") -> Checked:
    size = job.sizes[0]
    why = ""
    for _ in range(_TRIES):  # under load, one simulation in some hundreds dies
        try:
            return Checked(size, who, spec, walker, seconds_of([job])[0][size], algorithm=algorithm)
        except StrettoError as error:
            why = str(error)
    return Checked(size, who, spec, walker, None, why, algorithm)
