# SPDX-License-Identifier: Apache-2.0
"""Trainings played on a simulated cluster: gradients through Horovod's logic, its calls through SMPI.

Calls and logic are apart (see stretto.replay.horovod for why they can be): the logic says which sizes are
needed, these are simulated, and it is played again with what they take, until nothing is missing. To play all
of it within the simulation would send each of the thousands of agreements of a step, and the same messages
in each step anew.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from stretto.replay.durations import Durations, Site, settle
from stretto.replay.horovod import Costs, Gradient, Message, Settings, Step, Training, coordination_bytes
from stretto.simulate.smpi import Progress

_WARM_UP = 1
STEPS = 10


@dataclass(frozen=True, slots=True)
class Setup:
    """A training to be played."""

    gradients: tuple[Gradient, ...]
    batch: int
    """Images of a worker in a step."""
    site: Site
    spec: str
    others: tuple[str, ...] = ()
    """Further specs: each message goes by the fastest of all."""
    settings: Settings = field(default_factory=Settings)
    imbalance: float = 0.0
    """Standard deviation of what workers take to compute a step, as a part of that."""
    seed: int = 0
    steps: int = STEPS


@dataclass(frozen=True, slots=True)
class Outcome:
    """A training that was played."""

    setup: Setup
    steps: tuple[Step, ...]

    @property
    def step_seconds(self) -> float:
        """Of a step, on average."""
        return statistics.fmean(one.seconds for one in self.steps)

    @property
    def images_per_second(self) -> float:
        """Of all workers together."""
        return self.setup.batch * self.setup.site.ranks / self.step_seconds

    @property
    def compute_seconds(self) -> float:
        """Of a step without communication: of the slowest worker, on average."""
        return statistics.fmean(one.compute for one in self.steps)

    @property
    def communication_seconds(self) -> float:
        """Of a step: its allreduces and their copies."""
        return statistics.fmean(one.communication for one in self.steps)

    @property
    def exposed_seconds(self) -> float:
        """Of a step: what it takes longer than its computation."""
        return self.step_seconds - self.compute_seconds

    @property
    def messages(self) -> list[Message]:
        """Of all steps."""
        return [message for step in self.steps for message in step.messages]


def replay(setups: Sequence[Setup], progress: Progress | None = None) -> list[Outcome]:
    """All trainings. Raises StrettoError for what cannot be simulated."""
    tables: dict[tuple[int, str], Durations] = {}
    sites: list[Site] = []

    def table_of(site: Site, spec: str) -> Durations:
        if site not in sites:
            sites.append(site)
        return tables.setdefault((sites.index(site), spec), Durations(site, spec))

    # What a library does with short messages is what agreements take, whatever carries out the long ones.
    own = [
        ([table_of(one.site, spec) for spec in (one.spec, *one.others)], table_of(one.site, "native"))
        for one in setups
    ]
    outcomes: dict[int, Outcome] = {}
    while True:
        for index, (setup, (allreduces, agreement)) in enumerate(zip(setups, own, strict=True)):
            if index in outcomes:
                continue
            outcome = _play(setup, allreduces, agreement)
            if not any(one.wanted for one in (*allreduces, agreement)):
                outcomes[index] = outcome
        if not settle(tables.values(), progress):
            return [outcomes[index] for index in range(len(setups))]


def _play(setup: Setup, allreduces: Sequence[Durations], agreement: Durations) -> Outcome:
    costs = Costs(
        agreement.seconds(coordination_bytes(len(setup.gradients))),
        lambda size: min(one.seconds(size) for one in allreduces),
        lambda size: _copy_seconds(setup.site, size),
    )
    training = Training(setup.gradients, setup.settings, costs, setup.site.ppn)
    chance = random.Random(setup.seed)
    steps = [training.step(_slowest(setup, chance)) for _ in range(_WARM_UP + setup.steps)]
    return Outcome(setup, tuple(steps[_WARM_UP:]))


def _slowest(setup: Setup, chance: random.Random) -> float:
    """How many times longer than usual the slowest of the workers computes."""
    if not setup.imbalance:
        return 1.0
    return max(0.0, *(chance.gauss(1.0, setup.imbalance) for _ in range(setup.site.ranks)))


def _copy_seconds(site: Site, size: int) -> float:
    """No slower than a reduction, which reads twice as much; none where the platform does not say."""
    rates = site.platform.machine.reduction_rates if site.platform.machine else []
    fitting = [rate for begin, rate in rates if begin <= size]
    return size / fitting[-1] if fitting else 0.0
