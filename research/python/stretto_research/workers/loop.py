# SPDX-License-Identifier: Apache-2.0
"""Measures the steps of a training, in any framework."""

from __future__ import annotations

import json
import time
from typing import Any, Protocol

from stretto_research.workers import switch
from stretto_research.workers.images import Images, Labels, Source
from stretto_research.workers.options import Options


class Trainer(Protocol):
    """A network on this rank, in some framework."""

    rank: int
    ranks: int
    nodes: int
    about: str
    """Names and versions of the framework and its parts."""
    parameters: int
    """The number of parameters, counted with statistics of normalizations as in the papers."""

    def compute(self, images: Images, labels: Labels) -> float:
        """Do a step without communication that does not change the network. Returns the loss."""

    def step(self, images: Images, labels: Labels) -> float:
        """Do a step of all ranks together. Returns the loss of this rank's images."""

    def agree(self) -> None:
        """Copy rank 0's parameters to all ranks."""

    def barrier(self) -> None:
        """Wait for all ranks."""

    def end(self) -> None:
        """Leave the group of ranks."""


def run(trainer: Trainer, source: Source, options: Options) -> None:
    """Do all steps. Rank 0 prints the results."""
    training = _Training(trainer, source, options)
    training.tell(
        "start",
        about=trainer.about,
        ranks=trainer.ranks,
        nodes=trainer.nodes,
        parameters=trainer.parameters,
    )
    if options.compute_steps > 0:
        training.measure_computation()
    trainer.agree()
    training.take_turns()
    training.tell("end")


class _Training:
    def __init__(self, trainer: Trainer, source: Source, options: Options) -> None:
        self._trainer = trainer
        self._source = source
        self._options = options
        self._number = 0

    def tell(self, event: str, **content: Any) -> None:
        if self._trainer.rank == 0:
            print(json.dumps({"event": event, **content}), flush=True)

    def measure_computation(self) -> None:
        """Measure steps without communication on all ranks at once, since they share cores and memory."""
        images, labels = self._batch()
        self._trainer.compute(images, labels)  # builds the graph
        for _ in range(self._options.compute_steps):
            self._trainer.barrier()
            began = time.perf_counter()
            self._trainer.compute(images, labels)
            self._trainer.barrier()
            self.tell("compute", seconds=time.perf_counter() - began)

    def take_turns(self) -> None:
        """Do a step by each spec, and then measure blocks of steps by each in turns, in changing order."""
        specs = self._options.specs
        for index in range(max(1, len(specs))):
            self._use(index)
            self._one_step(index, None)
        order = list(range(max(1, len(specs))))
        for turn in range(self._options.rounds):
            for index in order:
                self._use(index)
                self._trainer.barrier()
                for _ in range(self._options.steps):
                    self._one_step(index, turn)
            order = order[1:] + order[:1]

    def _use(self, index: int) -> None:
        if self._options.specs:
            switch.force_allreduce(self._options.specs[index])

    def _one_step(self, index: int, turn: int | None) -> None:
        images, labels = self._batch()
        self._number += 1
        began = time.perf_counter()
        loss = self._trainer.step(images, labels)
        self.tell("step", spec=index, round=turn, seconds=time.perf_counter() - began, loss=loss)

    def _batch(self) -> tuple[Images, Labels]:
        return self._source.batch(self._options.seed, self._trainer.rank, self._number, self._options.batch)
