# SPDX-License-Identifier: Apache-2.0
"""The file of a training, as far as a replay is held against it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from stretto.simulate.jobs import SELECTORS
from stretto.support.errors import StrettoError
from stretto.support.json_files import Number, Part, Seconds, read_json, validate

FORMAT = "stretto-training"

Positive = Annotated[int, Field(gt=0)]
Rate = Annotated[Number, Field(gt=0)]


class Images(Part):
    """Images a second of all workers."""

    median: Rate
    low: Rate | None = None
    high: Rate | None = None


class Line(Part):
    """One way to carry out allreduce."""

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
    """Of a step without communication, while all workers run."""
    lines: Annotated[list[Line], Field(min_length=1)]

    @property
    def selector(self) -> str | None:
        """Which imitation of SMPI's is that of its library."""
        return next((name for name in SELECTORS if self.mpi.lower().replace(" ", "").startswith(name)), None)


def load_training(file: Path) -> MeasuredTraining:
    """Raises StrettoError for a file that is none, or of nodes with unlike numbers of workers."""
    training = validate(MeasuredTraining, read_json(file), file)
    if training.ranks % training.nodes:
        raise StrettoError(
            f"{file}: {training.ranks} workers on {training.nodes} nodes: a replay has the same number on "
            "each node"
        )
    return training
