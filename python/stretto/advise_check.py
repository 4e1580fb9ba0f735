# SPDX-License-Identifier: Apache-2.0
"""Whether SimGrid's SMPI says the same as the walker, on a sample of what `stretto advise` says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.advise_search import Advice, library_seconds
from stretto.errors import StrettoError
from stretto.library_choices import LIBRARIES, library_choice
from stretto.model import Call, Model
from stretto.native_specs import NATIVE
from stretto.platforms import platform_of_machine
from stretto.simulation import Job, seconds_of
from stretto.smpi import Progress

MOST_RANKS = 64
"""What is simulated in seconds."""
OURS = "stretto"
APART = 0.2
"""So far from each other is worth a warning."""
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

    @property
    def difference(self) -> float | None:
        """How much more time the walker says, as a part of SMPI's."""
        return None if self.smpi is None else self.walker / self.smpi - 1

    @property
    def is_apart(self) -> bool:
        """Whether they disagree."""
        return self.difference is not None and abs(self.difference) > APART


@dataclass(frozen=True, slots=True)
class Check:
    """The whole sample, and the cluster on which it was taken."""

    nodes: int
    ppn: int
    rows: list[Checked]


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
    """Simulate the sample. What SMPI fails to carry out says so in its row."""
    nodes, ppn = sample_shape(nodes, ppn)
    platform = platform_of_machine(model.machine, nodes, ppn)
    topology = f"nodes={nodes},ppn={ppn}"
    rows = []
    sample = sample_of(advice)
    for done, one in enumerate(sample, 1):
        call = Call(collective, one.bytes, topology)
        if one.spec != NATIVE and model.fits(call, one.spec):
            job = Job(platform, nodes, one.spec, (one.bytes,), ppn, collective)
            rows.append(_checked(job, OURS, one.spec, model.predict(call, one.spec).seconds))
        for library in LIBRARIES:
            choice = library_choice(library, collective, nodes * ppn, ppn, one.bytes)
            # Some of SMPI's algorithms give wrong results, which their time does not care about.
            job = Job(platform, nodes, NATIVE, (one.bytes,), ppn, collective, library, data=False)
            rows.append(_checked(job, library, choice.spec, library_seconds(model, call, choice)))
        if progress:
            progress(done, len(sample))
    return Check(nodes, ppn, rows)


def _checked(job: Job, who: str, spec: str | None, walker: float) -> Checked:
    size = job.sizes[0]
    why = ""
    for _ in range(_TRIES):  # under load, one simulation in some hundreds dies
        try:
            return Checked(size, who, spec, walker, seconds_of([job])[0][size])
        except StrettoError as error:
            why = str(error)
    return Checked(size, who, spec, walker, None, why)
