# SPDX-License-Identifier: Apache-2.0
"""`stretto-prediction` files: predicted and measured times of collectives.

    {"format": "stretto-prediction", "version": 1,
     "machine": "the name of the machine file's machine", "mpi": "Open MPI 4.1.4",
     "predictions": [
       {"collective": "allreduce", "spec": "ring:segment_bytes=256KiB", "bytes": 1048576,
        "nodes": 8, "ppn": 1, "predicted": 0.0712, "measured": 0.0758}, …]}

`bytes` is the whole message, an integer or a text such as "1MiB"; times are in seconds.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from stretto.support.parts import Bytes, Part, Seconds

FORMAT = "stretto-prediction"

Count = Annotated[int, Field(ge=1)]


class Prediction(Part):
    """One call: a collective by one spec at one size."""

    collective: str
    spec: str
    bytes: Bytes
    nodes: Count
    ppn: Count
    predicted: Seconds
    measured: Seconds

    @property
    def error(self) -> float:
        """Relative error of the prediction: 0.1 is 10 % too long."""
        return self.predicted / self.measured - 1


class Predictions(Part):
    """The predictions for one machine and one MPI library."""

    format: Literal["stretto-prediction"]
    version: Literal[1]
    machine: str
    mpi: str
    predictions: Annotated[list[Prediction], Field(min_length=1)]

    @property
    def title(self) -> str:
        """Machine and MPI library, for people."""
        return f"{self.machine}, {self.mpi}"


def median_error(predictions: Sequence[Prediction]) -> float:
    """The median of the absolute errors."""
    return statistics.median(abs(one.error) for one in predictions)


def worst(predictions: Sequence[Prediction]) -> Prediction:
    """The prediction with the largest absolute error."""
    return max(predictions, key=lambda one: abs(one.error))
