# SPDX-License-Identifier: Apache-2.0
"""What `stretto profile` writes: the collectives of a job, and the training in it if there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from stretto.support.json_files import Number, Part, read_json, validate

FORMAT: Literal["stretto-profile"] = "stretto-profile"

Count = Annotated[int, Field(ge=0)]
Time = Annotated[Number, Field(ge=0)]


class Spread(Part):
    """Seconds, or other figures, of many calls."""

    median: Time
    p95: Time


class Calls(Part):
    """Calls of one collective with one number of bytes, carried out one way."""

    collective: str
    spec: str
    form: str
    """blocking, nonblocking or persistent."""
    ranks: Count
    bytes: Count
    calls: Count
    """Of all ranks together these are one."""
    total_bytes: Count
    """Of one rank."""
    seconds: Spread
    """From the first arrival to the last end."""
    inside: Time
    """Seconds of all these calls, the mean of ranks."""
    arrival: Spread
    """Seconds from the first arrival to the last."""
    gap: Spread
    """Seconds that a rank was outside of collectives before."""


class Bin(Part):
    """Calls of one collective, of `begin` bytes and more and of less than twice as many."""

    collective: str
    begin: Count
    calls: Count
    total_bytes: Count
    inside: Time
    """Seconds, the mean of ranks."""


class GradientPart(Part):
    """A tensor that all workers sum in each step."""

    name: str
    bytes: Annotated[int, Field(gt=0)]
    ready: Time
    """Seconds of computing from the beginning of a step."""


class MessagePart(Part):
    """Allreduces of merged gradients."""

    bytes: Count
    per_step: Time


class Training(Part):
    """Steps that were found in the timeline of a framework."""

    framework: str
    steps: Count
    step_seconds: Time
    """The median."""
    compute_seconds: Time
    """Until the last gradient is there: an estimate of a step without communication."""
    uncertainty_seconds: Time
    """Of when gradients were there."""
    gradients: Annotated[list[GradientPart], Field(min_length=1)]
    messages: list[MessagePart]


class Profile(Part):
    """The whole file."""

    format: Literal["stretto-profile"]
    version: Literal[1]
    ranks: Annotated[int, Field(gt=0)]
    nodes: Annotated[int, Field(gt=0)]
    seconds: Time
    """From the first call to the end of the last, the mean of ranks."""
    inside: Time
    """Of that in collectives."""
    waiting: Time
    """And of that for ranks that came later."""
    collectives: list[Calls]
    histogram: list[Bin]
    training: Training | None = None

    @property
    def share(self) -> float:
        """The part of the time that was spent in collectives."""
        return self.inside / self.seconds if self.seconds > 0 else 0.0


def load_profile(file: Path) -> Profile:
    """Raises StrettoError for a file that is none."""
    return validate(Profile, read_json(file), file)
