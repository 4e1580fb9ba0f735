# SPDX-License-Identifier: Apache-2.0
"""Predicts the times of calls: loads machines, and runs the schedule walker."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from stretto._core import (
    Machine,
    Prediction,
    Predictor,
    Topology,
    algorithms,
    is_never_cut,
    parse_spec,
    why_unsupported,
)
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError

# Algorithms that MPI libraries are known to use, unsegmented and round by round. Which one is used depends on
# the library and its version; the model assumes the best of them.
_TEXTBOOK = {
    "allreduce": ("recursive_doubling", "rabenseifner", "reduce_broadcast"),
    "bcast": ("binomial", "scatter_allgather"),
    "reduce": ("binomial", "rabenseifner"),
    "reduce_scatter": ("recursive_halving", "pairwise"),
    "allgather": ("recursive_doubling", "bruck", "ring"),
    "alltoall": ("bruck", "linear", "pairwise"),
    "alltoallv": ("linear", "pairwise"),
    "gather": ("binomial", "linear"),
    "gatherv": ("linear",),
    "scatter": ("binomial", "linear"),
    "scatterv": ("linear",),
    "scan": ("recursive_doubling", "chain"),
    "exscan": ("recursive_doubling", "chain"),
    "barrier": ("dissemination",),
}

_LEAST_MESSAGE = 4
"""Bytes of a message without content, as in a barrier: the model counts elements of 4 bytes."""
_PIPELINING = (
    "segments=4",
    "segments=16",
    "segment_bytes=256KiB",
    "segment_bytes=1MiB",
    "segment_bytes=4MiB",
)


def machine_names() -> list[str]:
    """Names of the built-in machines."""
    folder = resources.files("stretto.model") / "machines"
    return sorted(one.name.removesuffix(".json") for one in folder.iterdir() if one.name.endswith(".json"))


def machine_text(name: str, option: str = "--machine") -> str:
    """The text of a built-in machine's file, or of the file of that name.

    Errors name `option`, the command-line option that asked for the machine.
    """
    if name in machine_names():
        return (resources.files("stretto.model") / "machines" / f"{name}.json").read_text(encoding="utf-8")
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise StrettoError(
            f"{option} {name}: {what}; expected a file, or one of {', '.join(machine_names())}"
        ) from None


def load_machine(name: str, nodes: int = 1) -> Machine:
    """A built-in machine, or the machine of a file.

    `nodes` is the number of nodes of the calls. Raises StrettoError if there are several, but the machine was
    measured inside one.
    """
    text = machine_text(name)
    try:
        machine = Machine(text)
    except ValueError as error:
        raise StrettoError(f"--machine {name}: {error}") from None
    if nodes > 1 and "network" not in json.loads(text)["levels"]:
        raise StrettoError(
            f"--machine {name}: it was measured inside one node, so it has no figures for links between "
            "nodes; give --nodes 1, or another machine"
        )
    return machine


@dataclass(frozen=True, slots=True)
class Call:
    """A call to predict: collective, message size, topology."""

    collective: str
    bytes: int
    topology: str
    """The topology as an option gives it: nodes=8,ppn=1."""


class Model:
    """Predicts calls on one machine. Schedules are built once per recipe and topology."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._of_library = machine.without_shared_memory()
        self._predictors: dict[tuple[str, str, str], Predictor] = {}

    def predict(
        self,
        call: Call,
        spec: str,
        *,
        model: str = "max_rate",
        overlap: str = "measured",
        arithmetic: bool = True,
        engine: bool = True,
        staging: str = "none",
    ) -> Prediction:
        """The predicted time of the call by `spec`; `native` stands for the best textbook algorithm.

        `staging`: none, or, for buffers in device memory, segments or whole; `native` is never staged.
        Raises StrettoError if the spec or the topology cannot be read.
        """
        if not COLLECTIVES[call.collective].has_message:
            call = replace(call, bytes=_LEAST_MESSAGE)
        try:
            recipe = parse_spec(spec, call.collective).recipe
            if recipe == "native":
                return self._native(call, model, overlap, arithmetic)
            predictor = self._predictor(call, recipe)
            return predictor.predict(
                spec, call.bytes, self.machine, model, overlap, arithmetic, engine, staging
            )
        except ValueError as error:
            raise StrettoError(str(error)) from None

    def copy_seconds(self, call: Call, spec: str) -> float:
        """Seconds of only the copies of a call in device memory, in the direction that takes longer."""
        recipe = parse_spec(spec, call.collective).recipe
        return self._predictor(call, recipe).copy_seconds(spec, call.bytes, self.machine)

    def fits(self, call: Call, spec: str) -> bool:
        """Whether a spec can be used on the topology."""
        recipe = parse_spec(spec, call.collective).recipe
        return recipe == "native" or not why_unsupported(
            call.collective, recipe, parse_topology(call.topology)
        )

    def _native(self, call: Call, model: str, overlap: str, arithmetic: bool) -> Prediction:
        """The MPI default: the best textbook algorithm, unsegmented, without the cost of Stretto's engine."""
        candidates = [
            self._predictor(call, recipe).predict(
                recipe, call.bytes, self._of_library, model, overlap, arithmetic, False
            )
            for recipe in _TEXTBOOK[call.collective]
            if self.fits(call, recipe)
        ]
        return min(candidates, key=lambda one: one.seconds)

    def _predictor(self, call: Call, recipe: str) -> Predictor:
        key = (call.collective, recipe, call.topology)
        if key not in self._predictors:
            self._predictors[key] = Predictor(call.collective, recipe, parse_topology(call.topology))
        return self._predictors[key]


def link_seconds(call: Call, machine: Machine) -> float | None:
    """Seconds that the nodes' links need at least, whatever the algorithm; None on one node.

    Without an injection limit, a node's link is as fast as all its ranks together. If the links of n nodes
    differ, a slow one must carry the contributions of its node to an allreduce, and all links together must
    carry 2(n-1) messages (`weighted`, docs/algorithms.md).
    """
    topology = parse_topology(call.topology)
    if topology.nodes < 2:
        return None
    ppn = _ranks_on_nodes(topology)
    fastest = max(one.bandwidth for one in machine.protocols("network"))
    bandwidth = machine.node_bandwidth or fastest * topology.max_ppn
    part = COLLECTIVES[call.collective].link_part(ppn)
    rates = machine.node_rates
    if part and len(rates) == topology.nodes:
        is_shared = call.collective == "allreduce"
        alone = (1 if is_shared else part) / min(rates)
        return call.bytes * max(alone, 2 * (len(rates) - 1) / sum(rates) if is_shared else 0)
    return part * call.bytes / bandwidth if part else None


def _ranks_on_nodes(topology: Topology) -> list[int]:
    if topology.min_ppn == topology.max_ppn:
        return [topology.max_ppn] * topology.nodes
    return list(Counter(topology.node_of).values())


def candidates(collective: str, topology: str) -> list[str]:
    """Specs worth predicting: all algorithms that fit the topology, whole and in segments."""
    where = parse_topology(topology)
    specs = ["native"]
    for algorithm in algorithms():
        if algorithm.collective != collective or why_unsupported(collective, algorithm.usual, where):
            continue
        specs.append(algorithm.usual)
        if is_never_cut(collective):
            continue
        specs += [f"{algorithm.usual}:{pipelining}" for pipelining in _PIPELINING]
    return specs
