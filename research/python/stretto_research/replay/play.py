# SPDX-License-Identifier: Apache-2.0
"""Plays trainings on a simulated cluster: Horovod's logic in Python, its calls through SMPI.

Logic and calls are separate (horovod.py says why they can be). The logic finds which message
sizes are needed. These are simulated, and the training is played again with their times, until no size is
missing. Playing everything inside the simulation would simulate thousands of agreements in each step, and the
same messages again in each step.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from stretto_research.replay.durations import Durations, Site, settle
from stretto_research.replay.horovod import (
    Costs,
    Gradient,
    Message,
    Settings,
    Step,
    Training,
    coordination_bytes,
)
from stretto_research.simulate.smpi import Progress

_WARM_UP = 1
STEPS = 10


@dataclass(frozen=True, slots=True)
class Setup:
    """A training to play."""

    gradients: tuple[Gradient, ...]
    batch: int
    """Images per worker in a step."""
    site: Site
    spec: str
    others: tuple[str, ...] = ()
    """Further specs: each message uses the fastest of all."""
    settings: Settings = field(default_factory=Settings)
    imbalance: float = 0.0
    """Relative standard deviation of the workers' compute time."""
    seed: int = 0
    steps: int = STEPS


@dataclass(frozen=True, slots=True)
class Outcome:
    """A played training."""

    setup: Setup
    steps: tuple[Step, ...]

    @property
    def step_seconds(self) -> float:
        """Mean length of a step."""
        return statistics.fmean(one.seconds for one in self.steps)

    @property
    def images_per_second(self) -> float:
        """Images per second of all workers."""
        return self.setup.batch * self.setup.site.ranks / self.step_seconds

    @property
    def compute_seconds(self) -> float:
        """Mean compute time of the slowest worker in a step."""
        return statistics.fmean(one.compute for one in self.steps)

    @property
    def communication_seconds(self) -> float:
        """Mean time of a step in allreduces and their copies."""
        return statistics.fmean(one.communication for one in self.steps)

    @property
    def exposed_seconds(self) -> float:
        """Mean time of a step that communication adds to computation."""
        return self.step_seconds - self.compute_seconds

    @property
    def messages(self) -> list[Message]:
        """The messages of all steps."""
        return [message for step in self.steps for message in step.messages]


def play_all(setups: Sequence[Setup], progress: Progress | None = None) -> list[Outcome]:
    """Play the trainings. Raises StrettoError if a call cannot be simulated."""
    tables: dict[tuple[int, str], Durations] = {}
    sites: list[Site] = []

    def table_of(site: Site, spec: str) -> Durations:
        if site not in sites:
            sites.append(site)
        return tables.setdefault((sites.index(site), spec), Durations(site, spec))

    # Agreements are short allreduces by the MPI library, whatever spec sums the gradients.
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
    """The compute time of the slowest worker, relative to the usual time."""
    if not setup.imbalance:
        return 1.0
    return max(0.0, *(chance.gauss(1.0, setup.imbalance) for _ in range(setup.site.ranks)))


def _copy_seconds(site: Site, size: int) -> float:
    """Seconds of a copy, at the rate of a reduction; 0 if the platform has no such rate."""
    rates = site.platform.machine.reduction_rates if site.platform.machine else []
    fitting = [rate for begin, rate in rates if begin <= size]
    return size / fitting[-1] if fitting else 0.0
