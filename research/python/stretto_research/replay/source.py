# SPDX-License-Identifier: Apache-2.0
"""The gradients of a training and when they are ready: from a profile, or for one of the papers' networks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stretto.support.console import progress_bar
from stretto.support.errors import StrettoError
from stretto.support.units import format_seconds
from stretto.trace.profile_file import load_profile
from stretto_research.networks.gradients import GRADIENT_BYTES, NETWORKS, Network, gradients
from stretto_research.replay.durations import Site
from stretto_research.replay.horovod import Gradient, Settings
from stretto_research.replay.play import Outcome, Setup, play_all
from stretto_research.simulate.platforms import load_platform
from stretto_research.simulate.smpi import Progress

PASSES = 3
"""Arithmetic of a step, in forward passes."""
PAPERS_SETTINGS = Settings(fusion=64 << 20, cycle=5e-3)
"""The defaults of Horovod 0.19 and 0.20, which the papers used."""
PAPERS_IMAGES = {"alexnet": 330.0, "resnet50": 27.0, "resnet110": 196.0, "vgg11": 58.0}
"""Images per second of 8 nodes of ALTEC by the MPI default, 64 images per worker.

They are in Table 3 of the CNN-training paper, as AUTO.
"""
PAPERS_BATCH, PAPERS_NODES = 64, 8
_ENOUGH = 1e-5
_MOST_TRIALS = 12
_SPEED = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(images/s|[gt]flops|x)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A training, independent of the cluster on which it runs."""

    name: str
    gradients: tuple[Gradient, ...]
    note: str
    """How the ready times of gradients are known."""

    @property
    def compute_seconds(self) -> float:
        """Compute time of a step."""
        return max(one.ready for one in self.gradients)

    def scaled(self, compute_seconds: float, note: str) -> Source:
        """The same training with another compute time of a step."""
        if self.compute_seconds <= 0:
            raise StrettoError(
                f"{self.name}: all its gradients are ready at once, so there are no times to scale"
            )
        factor = compute_seconds / self.compute_seconds
        moved = tuple(replace(one, ready=factor * one.ready) for one in self.gradients)
        return Source(self.name, moved, note)


def of_network(network: Network, compute_seconds: float, note: str) -> Source:
    """A network with this compute time of a step, shared among its layers by their operations."""
    row = tuple(
        Gradient(tensor.name, tensor.parameters * GRADIENT_BYTES, share * compute_seconds)
        for tensor, share in gradients(network)
    )
    return Source(network.name, row, note)


def load_source(text: str, batch: int, speed: str | None, platform: str) -> Source:
    """Load a network by name, or a profile from a file. Raises StrettoError if it has no training."""
    if text in NETWORKS:
        return _load_network(text, batch, speed, platform)
    if not Path(text).is_file():
        raise StrettoError(
            f"{text}: expected a file that stretto profile wrote, or one of {', '.join(NETWORKS)}"
        )
    training = load_profile(Path(text)).training
    if training is None:
        raise StrettoError(
            f"{text}: there is no training in this profile: its program does not use Horovod, or made fewer "
            "than three steps"
        )
    found = tuple(Gradient(one.name, one.bytes, one.ready) for one in training.gradients)
    note = (
        f"gradients as profiled in {training.steps} steps, computed in "
        f"{format_seconds(training.compute_seconds)} ± {format_seconds(training.uncertainty_seconds)}"
    )
    source = Source(Path(text).stem, found, note)
    if speed is None:
        return source
    number, unit = _parse_speed(speed)
    if unit == "x":
        return source.scaled(source.compute_seconds / number, f"{note}, here {number:g} times as fast")
    if unit == "images/s":
        return source.scaled(
            batch / number, f"gradients as profiled, computed at {number:g} images/s per worker"
        )
    raise StrettoError(f"--compute-speed {speed}: a profile does not count operations; give 2x or 41images/s")


def _load_network(name: str, batch: int, speed: str | None, platform: str) -> Source:
    network = NETWORKS[name]()
    if speed is None:
        if platform != "altec":
            raise StrettoError(
                f"{name} on {platform}: give the speed of a worker, such as --compute-speed 300gflops or "
                "41images/s"
            )
        with progress_bar("calibrating") as progress:
            images = calibrate([name], progress)[name]
        note = (
            f"{images:.3g} images/s per worker, with which the MPI default is as fast as in Table 3 of the "
            "CNN-training paper"
        )
        return of_network(network, batch / images, note)
    number, unit = _parse_speed(speed)
    if unit == "x":
        raise StrettoError(
            f"--compute-speed {speed}: {name} has no speed to multiply; give 300gflops or 41images/s"
        )
    if unit == "images/s":
        return of_network(network, batch / number, f"{number:g} images/s per worker")
    rate = number * (1e9 if unit == "gflops" else 1e12)
    return of_network(network, batch * PASSES * network.operations / rate, f"{number:g} {unit} per worker")


def _parse_speed(text: str) -> tuple[float, str]:
    match = _SPEED.fullmatch(text)
    if match is None or float(match[1]) <= 0:
        raise StrettoError(
            f"--compute-speed {text}: expected images or operations per second of a worker, such as "
            "41images/s or 300gflops, or a multiple of a profile's speed, such as 2x"
        )
    return float(match[1]), match[2].lower()


def calibrate(names: Sequence[str], progress: Progress | None = None) -> dict[str, float]:
    """Images per second that a worker of ALTEC must compute for the MPI default's replay to give Table 3.

    The time that communication adds to a step hardly depends on the compute time. So it is subtracted from
    the wanted length of a step, again and again, until the replay gives that length.
    """
    site = Site(load_platform("altec", PAPERS_NODES), PAPERS_NODES)
    steps = {name: PAPERS_BATCH * PAPERS_NODES / PAPERS_IMAGES[name] for name in names}
    compute = dict(steps)
    for _ in range(_MOST_TRIALS):
        setups = [
            Setup(
                of_network(NETWORKS[name](), compute[name], "").gradients,
                PAPERS_BATCH,
                site,
                "native",
                settings=PAPERS_SETTINGS,
            )
            for name in names
        ]
        outcomes: dict[str, Outcome] = dict(zip(names, play_all(setups, progress), strict=True))
        off = {name: one.step_seconds - steps[name] for name, one in outcomes.items()}
        if all(abs(off[name]) <= _ENOUGH * steps[name] for name in names):
            break
        compute = {name: compute[name] - off[name] for name in names}
    return {name: PAPERS_BATCH / compute[name] for name in names}
