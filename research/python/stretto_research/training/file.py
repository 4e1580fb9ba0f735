# SPDX-License-Identifier: Apache-2.0
"""Reads the parts of a training's file with which replays are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from stretto.support.errors import StrettoError
from stretto.support.json_files import read_json
from stretto.support.parts import Number, Part, Seconds, validate
from stretto_research.simulate.jobs import SELECTORS

Positive = Annotated[int, Field(gt=0)]
Rate = Annotated[Number, Field(gt=0)]


class Images(Part):
    """Images per second of all workers."""

    median: Rate
    low: Rate | None = None
    high: Rate | None = None


class Line(Part):
    """One spec of allreduce."""

    label: str
    spec: str
    images_per_second: Images


class MeasuredTraining(Part):
    """The whole file."""

    format: Literal["stretto-training"]
    version: Literal[1]
    batch: Positive
    ranks: Positive
    nodes: Positive
    mpi: str
    compute_seconds: Seconds | None = None
    """The time of a step without communication, while all workers compute."""
    lines: Annotated[list[Line], Field(min_length=1)]

    @property
    def selector(self) -> str | None:
        """SMPI's name for the MPI library of the training; None if SMPI does not imitate it."""
        return next((name for name in SELECTORS if self.mpi.lower().replace(" ", "").startswith(name)), None)


def load_training(file: Path) -> MeasuredTraining:
    """Read a training. Raises StrettoError for other files, or if nodes differ in their workers."""
    training = validate(MeasuredTraining, read_json(file), file)
    if training.ranks % training.nodes:
        raise StrettoError(
            f"{file}: {training.ranks} workers on {training.nodes} nodes: a replay needs the same number on "
            "each node"
        )
    return training
