# SPDX-License-Identifier: Apache-2.0
"""Measures a training: prepares the job, runs it, and keeps the results if it is interrupted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from stretto.bench.targets import Place, Target, find_target
from stretto.lab.cluster import Lab
from stretto.launch.mpi import Flavor
from stretto.launch.run import find_start
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.machine_load import LoadWatch
from stretto_research.training import job, memory
from stretto_research.training.interpreter import check_packages, find_python
from stretto_research.training.request import Request
from stretto_research.training.result import Line, Training
from stretto_research.workers.options import Options

_USUAL_RANKS = 2


@dataclass(frozen=True, slots=True)
class Measurement:
    """A training that is ready to run."""

    target: Target
    interpreter: str
    options: Options
    patience: float
    """The seconds after which the job is ended if no step has ended."""
    training: Training
    """Receives the results."""
    watch: LoadWatch

    def run(self, progress: job.Progress) -> None:
        """Run the job. If it is interrupted, the training keeps the rounds that are complete."""
        try:
            job.run(self.target, self.interpreter, self.options, self.patience, self.training, progress)
        except INTERRUPTIONS as ended:
            self._note_load()
            why = f"{signal_of(ended).name} ended it before its last round"
            self.training.end_early(why, self.options.steps)
            raise
        self._note_load()

    def _note_load(self) -> None:
        training = self.training
        is_one_machine = training.nodes == 1 or self.target.links is not None
        training.load = self.watch.look(training.ranks if is_one_machine else None)


def prepare(request: Request, place: Place, python: str | None, patience: float) -> Measurement:
    """Check memory and packages, and find the target. Raises StrettoError if the training cannot run."""
    specs = request.lines()
    ranks = place.ranks or _USUAL_RANKS
    if place.ranks is None and place.lab_name is not None:
        ranks = Lab(place.lab_name).require().nodes * place.ppn
    if not place.launcher:
        memory.check(request.model, request.architecture, request.batch, ranks)
    # The number of ranks of the user's own launcher is unknown. Workers then count the ranks of their node.
    threads = 0 if place.launcher else max(1, (os.cpu_count() or 1) // ranks)
    options = request.options(threads)
    interpreter = find_python(python)
    check_packages(interpreter, options.framework)
    target = find_target(place, preloaded=bool(options.specs))
    training = Training(
        options.framework,
        request.architecture.name,
        options.data,
        options.batch,
        [Line(spec) for spec in specs],
    )
    training.rate = target.rate
    training.mpi = _name_of_mpi(target, place)
    return Measurement(target, interpreter, options, patience, training, LoadWatch())


def _name_of_mpi(target: Target, place: Place) -> str:
    flavor = target.flavor or next((one for one in Flavor if one.value == place.mpi_name), None)
    if flavor is None and (launcher := find_start(place.launcher, os.environ).launcher):
        flavor = launcher.flavor
    return flavor.label if flavor else Path(place.launcher[0]).name
