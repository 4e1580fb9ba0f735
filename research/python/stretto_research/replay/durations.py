# SPDX-License-Identifier: Apache-2.0
"""Times of simulated allreduces by size.

Calls are simulated at four sizes per octave (with many ranks, at one). Sizes between these are interpolated;
sizes too large for memory are extrapolated linearly. So the calls of many trainings share simulations, which
stretto_research.simulate.smpi keeps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from stretto._core import choose
from stretto.model.walker import Call, Model
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError
from stretto.support.units import format_bytes
from stretto_research.simulate.jobs import LABELS, Job, seconds_of
from stretto_research.simulate.library_choices import library_choice
from stretto_research.simulate.platforms import Platform
from stretto_research.simulate.smpi import Progress

_STEPS_OF_OCTAVE = 4
_SHORTEST = 16
_ALL_MESSAGES = 8 << 30
"""The most message bytes of all ranks together; a library's algorithms make copies of them."""
_FEW_RANKS = 32
"""The most ranks for which a simulation takes little time."""
_GUESSED_RATE = 1e9


class CallSource(StrEnum):
    """The source of the times of calls."""

    SMPI = "smpi"
    MODEL = "model"
    """The schedule walker, which knows how the two directions of a connection slow each other down."""


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster on which calls are timed."""

    platform: Platform
    nodes: int
    ppn: int = 1
    selector: str = "openmpi"
    """The library that `native` stands for."""
    source: CallSource = CallSource.SMPI

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return self.nodes * self.ppn

    @property
    def longest(self) -> int:
        """Bytes of the largest simulated message, a power of two."""
        return 1 << (_ALL_MESSAGES // self.ranks).bit_length() - 1

    @property
    def steps(self) -> int:
        """How many sizes per octave are simulated."""
        return _STEPS_OF_OCTAVE if self.ranks <= _FEW_RANKS else 1


@dataclass(slots=True)
class Durations:
    """Times of one spec at one site.

    The time of a size that is not known yet is guessed, and the size is wanted until settle().
    """

    site: Site
    spec: str
    known: dict[int, float] = field(default_factory=dict)
    wanted: set[int] = field(default_factory=set)

    def seconds(self, size: int) -> float:
        """Seconds of an allreduce of this size."""
        low, high = neighbours(size, self.site.longest, self.site.steps)
        if low == high:
            return self._at(low)
        begin, end = self._at(low), self._at(high)
        return begin + (end - begin) * (size - low) / (high - low)

    def _at(self, size: int) -> float:
        if size in self.known:
            return self.known[size]
        self.wanted.add(size)
        nearest = min(self.known, key=lambda one: abs(one - size), default=None)
        rate = nearest / self.known[nearest] if nearest is not None else _GUESSED_RATE
        return size / rate

    def jobs(self) -> list[Job]:
        """The simulations that give the wanted sizes."""
        groups = {_octave(size, self.site.steps) for size in self.wanted}
        site = self.site
        return [
            Job(site.platform, site.nodes, self.spec, sizes, site.ppn, selector=site.selector, data=False)
            for sizes in sorted(groups)
        ]

    def walk(self) -> None:
        """Time all wanted sizes by the model."""
        site = self.site
        if site.platform.machine is None:
            raise StrettoError(
                f"--calls model: platform {site.platform.name} has no machine's figures; give --calls smpi"
            )
        model = Model(site.platform.machine)
        self.learn({size: _modelled(model, site, self.spec, size) for size in self.wanted})

    def learn(self, seconds: dict[int, float]) -> None:
        """Take over simulated times."""
        self.known |= seconds
        self.wanted -= set(seconds)


def neighbours(size: int, longest: int, steps: int) -> tuple[int, int]:
    """The simulated sizes next to a size, below and above; beyond the largest, the two largest octaves."""
    if size <= _SHORTEST:
        return _SHORTEST, _SHORTEST
    if size > longest:
        return longest // 2, longest
    octave = 1 << size.bit_length() - 1
    step = octave // steps
    low = size - size % step
    return (low, low) if low == size else (low, low + step)


def _octave(size: int, steps: int) -> tuple[int, ...]:
    begin = 1 << size.bit_length() - 1
    return tuple(begin + begin * step // steps for step in range(steps))


def settle(durations: Iterable[Durations], progress: Progress | None = None) -> bool:
    """Simulate or model all wanted sizes. Returns whether there were any.

    Raises StrettoError if SMPI refuses a call, or the model does not know it.
    """
    wanting = [one for one in durations if one.wanted]
    simulated = [one for one in wanting if one.site.source is CallSource.SMPI]
    for one in wanting:
        if one not in simulated:
            one.walk()
    owners = [(one, job) for one in simulated for job in one.jobs()]
    for (owner, job), seconds in zip(owners, seconds_of([job for _, job in owners], progress), strict=True):
        asked = owner.wanted & set(job.sizes)
        owner.learn(seconds)
        for size in sorted(asked - set(seconds)):
            raise StrettoError(
                f"{owner.spec} on {job.ranks} ranks with {format_bytes(size)}: SMPI's {LABELS[job.selector]} "
                "refuses this number of ranks; give another --selector or number of nodes"
            )
    return bool(wanting)


def _modelled(model: Model, site: Site, spec: str, size: int) -> float:
    topology = f"nodes={site.nodes},ppn={site.ppn}"
    chosen = choose("allreduce", size, parse_topology(topology)) if spec == "auto" else spec
    is_native = chosen.startswith("native")
    if is_native:
        choice = library_choice(site.selector, "allreduce", site.ranks, site.ppn, size)
        if chosen != "native" or choice.spec is None:
            raise StrettoError(
                f"{chosen} with {format_bytes(size)}: the model has no algorithm for it; give --calls smpi"
            )
        chosen = choice.spec
    return model.predict(Call("allreduce", size, topology), chosen, engine=not is_native).seconds
