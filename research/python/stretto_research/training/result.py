# SPDX-License-Identifier: Apache-2.0
"""The result of a training: steps by spec, figures computed from them, and the file."""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field
from typing import Any

from stretto.spec.native import NATIVE
from stretto.support.estimates import Estimate, estimate_median, speedup
from stretto.support.json_files import document_text
from stretto.support.machine_load import Load
from stretto.support.units import format_place
from stretto_research.training.lines import label

FORMAT = "stretto-training"


@dataclass(slots=True)
class Line:
    """All measured steps with one spec."""

    spec: str
    rounds: dict[int, list[float]] = field(default_factory=dict)
    """Seconds of each step, by round."""

    @property
    def label(self) -> str:
        """The label for people."""
        return label(self.spec)

    @property
    def step_seconds(self) -> list[float]:
        """The mean duration of a step, for each round."""
        return [statistics.fmean(steps) for _, steps in sorted(self.rounds.items())]


@dataclass(slots=True)
class Training:
    """One training job."""

    framework: str
    model: str
    data: str
    batch: int
    lines: list[Line]
    about: str = ""
    """Names and versions of the framework and its parts."""
    ranks: int = 0
    nodes: int = 1
    mpi: str = ""
    rate: float | None = None
    """Bytes per second of a node's link; None if unknown."""
    parameters: int = 0
    compute: list[float] = field(default_factory=list)
    """Seconds of steps without communication."""
    losses: list[tuple[str, float]] = field(default_factory=list)
    """Spec and loss of each step on rank 0."""
    load: Load | None = None
    """Load of the machine during the training."""
    incomplete: str = ""
    """The reason why the training ended before its last round."""

    def end_early(self, why: str, steps: int) -> None:
        """Keep only the rounds in which every line has all its `steps`."""
        self.incomplete = why
        whole = set.intersection(
            *({turn for turn, done in line.rounds.items() if len(done) == steps} for line in self.lines)
        )
        for line in self.lines:
            line.rounds = {turn: done for turn, done in line.rounds.items() if turn in whole}

    @property
    def has_rounds(self) -> bool:
        """Whether at least one round is complete."""
        return bool(self.lines[0].rounds)

    @property
    def compute_seconds(self) -> float | None:
        """The time of a step without communication, while all ranks compute."""
        return statistics.median(self.compute) if self.compute else None

    def images_per_second(self, line: Line) -> Estimate:
        """Returns images per second of all ranks."""
        images = self.batch * self.ranks
        return estimate_median(line.step_seconds).map_decreasing(lambda seconds: images / seconds)

    def gain(self, line: Line) -> Estimate | None:
        """Returns the speedup over the MPI default, by pairs of the same round."""
        native = next((one for one in self.lines if one.spec == NATIVE), None)
        if native is None or line is native:
            return None
        return speedup(native.step_seconds, line.step_seconds)

    def communication_share(self, line: Line) -> float | None:
        """Returns the share of a step that is not computation: the most that communication can gain."""
        if self.compute_seconds is None:
            return None
        return max(0.0, 1 - self.compute_seconds / statistics.median(line.step_seconds))

    def to_json(self) -> dict[str, Any]:
        """Returns the content of the document."""
        return {
            "framework": self.framework,
            "about": self.about,
            "model": self.model,
            "parameters": self.parameters,
            "data": self.data,
            "batch": self.batch,
            "ranks": self.ranks,
            "nodes": self.nodes,
            "mpi": self.mpi,
            "link_rate": self.rate,
            "compute_seconds": self.compute_seconds,
            "compute_samples": self.compute,
            "lines": [self._line_json(line) for line in self.lines],
            "losses": [{"spec": spec, "loss": loss} for spec, loss in self.losses],
        } | self._conditions()

    def _conditions(self) -> dict[str, Any]:
        load = {"load": self.load.to_json()} if self.load else {}
        return load | ({"incomplete": self.incomplete} if self.incomplete else {})

    def _line_json(self, line: Line) -> dict[str, Any]:
        gain = self.gain(line)
        return {
            "label": line.label,
            "spec": line.spec,
            "step_seconds": statistics.median(line.step_seconds),
            "images_per_second": self.images_per_second(line).to_json(),
            "speedup": gain.to_json() if gain else None,
            "communication_share": self.communication_share(line),
            "samples": [steps for _, steps in sorted(line.rounds.items())],
        }

    def text(self) -> str:
        """Returns the document."""
        where = f"{format_place(self.ranks, self.nodes)}, {self.mpi}"
        return document_text(FORMAT, sys.argv, where, self.to_json())
