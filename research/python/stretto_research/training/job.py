# SPDX-License-Identifier: Apache-2.0
"""Runs a training job, and reads its events."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from typing import Any

import stretto
from stretto.bench.targets import Target, measuring_environment
from stretto.launch.output import ProgramOutput
from stretto.results.runs import EndedError, parse_event
from stretto.support.errors import StrettoError
from stretto_research import workers
from stretto_research.training.result import Line, Training
from stretto_research.workers.options import Options

_END_SECONDS = 20.0
"""The time that the framework and MPI may take to end after the last step."""
_KILLED = (-9, 137)

Progress = Callable[[float, float], None]


def run(
    target: Target, python: str, options: Options, patience: float, training: Training, progress: Progress
) -> None:
    """Train on the target. `training` receives all results, even if the job fails halfway."""
    program = [python, *workers.__path__, *stretto.__path__[:1], options.to_text()]
    with measuring_environment({}), target.start(program) as process:
        reader = _Reader(training, options, progress)
        try:
            reader.read(ProgramOutput(process).lines(patience))
        except EndedError:
            raise StrettoError(
                f"no step of the training ended for {patience:.0f} s, so it was stopped: a rank may be lost "
                "or hang; if the network is slow, give a larger --patience"
            ) from None
        if not reader.ended:
            raise StrettoError(_why(process))
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return  # all results have arrived; leaving the block ends the job


def _why(process: subprocess.Popen[str]) -> str:
    status = process.wait(_END_SECONDS)
    if status in _KILLED:
        return (
            "a worker was killed (signal 9), probably for lack of memory: "
            "give a smaller --batch or fewer ranks"
        )
    return f"the training ended before its last step, with status {status}; see what the launcher said above"


class _Reader:
    """Reads events into a training."""

    def __init__(self, training: Training, options: Options, progress: Progress) -> None:
        self._training = training
        self._options = options
        self._progress = progress
        self._specs = options.specs or ("native",)
        blocks = options.rounds * len(self._specs)
        self._expected = options.compute_steps + len(self._specs) + blocks * options.steps
        self._seen = 0
        self.ended = False

    def read(self, lines: Iterable[str]) -> None:
        """Read lines until the job ends or fails."""
        for line in lines:
            event = parse_event(line)
            if not event:
                continue
            if event["event"] == "error":
                raise StrettoError(event["message"])
            self._take(event)
            if self.ended:
                return

    def _take(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        training = self._training
        if kind == "start":
            training.about, training.ranks = event["about"], event["ranks"]
            training.nodes, training.parameters = event["nodes"], event["parameters"]
        elif kind == "compute":
            training.compute.append(event["seconds"])
        elif kind == "step":
            spec = self._specs[event["spec"]]
            training.losses.append((spec, event["loss"]))
            if event["round"] is not None:
                line: Line = training.lines[event["spec"]]
                line.rounds.setdefault(event["round"], []).append(event["seconds"])
        elif kind == "end":
            self.ended = True
        if kind in ("compute", "step"):
            self._seen += 1
            self._progress(self._seen, self._expected)
