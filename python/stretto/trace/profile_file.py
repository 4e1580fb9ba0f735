# SPDX-License-Identifier: Apache-2.0
"""The file of `stretto profile`: a job's collectives, and its training steps if the job is a training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from stretto.support.json_files import document_text, read_json
from stretto.support.parts import Number, Part, validate
from stretto.support.units import format_place

FORMAT: Literal["stretto-profile"] = "stretto-profile"

Count = Annotated[int, Field(ge=0)]
Time = Annotated[Number, Field(ge=0)]


class Spread(Part):
    """Seconds, or other figures, of many calls."""

    median: Time
    p95: Time


class Calls(Part):
    """Calls of one collective with the same size, spec and form."""

    collective: str
    spec: str
    form: str
    """blocking, nonblocking or persistent."""
    ranks: Count
    bytes: Count
    calls: Count
    """The number of collectives. A collective counts once, not once per rank."""
    total_bytes: Count
    """Message bytes of one rank, over all these calls."""
    seconds: Spread
    """Seconds from the first arrival to the last end. See `Profile.within_clock_errors`."""
    inside: Time
    """Seconds inside all these calls, as the mean over ranks."""
    arrival: Spread
    """Seconds from the first arrival to the last."""
    gap: Spread
    """Seconds outside collectives before a call."""


class Bin(Part):
    """Calls of one collective with `begin` to `2 * begin - 1` bytes."""

    collective: str
    begin: Count
    calls: Count
    total_bytes: Count
    inside: Time
    """Seconds inside these calls, as the mean over ranks."""


class GradientPart(Part):
    """A tensor that all workers sum in each step."""

    name: str
    bytes: Annotated[int, Field(gt=0)]
    ready: Time
    """Seconds of computation from the start of a step."""


class MessagePart(Part):
    """Allreduces of merged gradients."""

    bytes: Count
    per_step: Time


class Training(Part):
    """The training steps found in a framework's timeline."""

    framework: str
    steps: Count
    step_seconds: Time
    """The median over steps."""
    compute_seconds: Time
    """Time until the last gradient is ready: an estimate of a step without communication."""
    uncertainty_seconds: Time
    """The uncertainty of the ready times of gradients."""
    gradients: Annotated[list[GradientPart], Field(min_length=1)]
    messages: list[MessagePart]


class Profile(Part):
    """The whole file."""

    format: Literal["stretto-profile"]
    version: Literal[1]
    ranks: Annotated[int, Field(gt=0)]
    nodes: Annotated[int, Field(gt=0)]
    seconds: Time
    """The seconds from the first call to the end of the last, as the mean over ranks."""
    inside: Time
    """The part of `seconds` inside collectives."""
    waiting: Time
    """The part of `inside` spent waiting for late ranks."""
    clock_error: Time = 0.0
    """The largest error of a host's clock, in seconds; 0 if all ranks read the same clock."""
    within_clock_errors: Count = 0
    """The number of collectives whose first arrival clocks cannot tell from the last. They have the times of
    the ranks of one host."""
    contradictions: Count = 0
    """The number of collectives that show that clock errors are larger than stated."""
    collectives: list[Calls]
    histogram: list[Bin]
    training: Training | None = None

    @property
    def share(self) -> float:
        """The share of the time that was spent inside collectives."""
        return self.inside / self.seconds if self.seconds > 0 else 0.0


def profile_text(profile: Profile, command: Sequence[str]) -> str:
    """Returns the file's text; `command` is the command line that made it."""
    where = format_place(profile.ranks, profile.nodes)
    return document_text(FORMAT, command, where, profile.model_dump())


def load_profile(file: Path) -> Profile:
    """Read a profile. Raises StrettoError for any other file."""
    return validate(Profile, read_json(file), file)
