# SPDX-License-Identifier: Apache-2.0
"""What calls are predicted to take: machines, and the schedule walker behind one function."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from stretto._core import Machine, Prediction, Predictor, algorithms, misfit, parse_spec
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError

# What MPI libraries are known to take, message by message and round by round. Their choice among these varies
# with the library and its version; that they take the best of them is the least that one can assume.
_TEXTBOOK = {
    "allreduce": ("recursive_doubling", "rabenseifner", "reduce_broadcast"),
    "bcast": ("binomial", "scatter_allgather"),
    "reduce": ("binomial", "rabenseifner"),
    "reduce_scatter": ("recursive_halving", "pairwise"),
    "allgather": ("recursive_doubling", "bruck", "ring"),
}

_PIPELINING = (
    "segments=4",
    "segments=16",
    "segment_bytes=256KiB",
    "segment_bytes=1MiB",
    "segment_bytes=4MiB",
)


def machine_names() -> list[str]:
    """The machines that are built in."""
    folder = resources.files("stretto.model") / "machines"
    return sorted(one.name.removesuffix(".json") for one in folder.iterdir() if one.name.endswith(".json"))


def machine_text(name: str, option: str = "--machine") -> str:
    """The text of a machine file: a built-in machine's, or what the file of that name holds.

    An error names the option by which the machine was asked for.
    """
    if name in machine_names():
        return (resources.files("stretto.model") / "machines" / f"{name}.json").read_text(encoding="utf-8")
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is no text"
        raise StrettoError(
            f"{option} {name}: {what}; expected a file, or one of {', '.join(machine_names())}"
        ) from None


def load_machine(name: str) -> Machine:
    """A built-in machine, or that of a file."""
    text = machine_text(name)
    try:
        return Machine(text)
    except ValueError as error:
        raise StrettoError(f"--machine {name}: {error}") from None


@dataclass(frozen=True, slots=True)
class Call:
    """What is to be predicted."""

    collective: str
    bytes: int
    topology: str
    """As an option names it: nodes=8,ppn=1."""


class Model:
    """Predicts calls on one machine. Schedules are built once for each recipe and topology."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
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
    ) -> Prediction:
        """What the call takes by `spec`. `native` is predicted as the best textbook algorithm.

        Raises StrettoError for a spec or a topology that cannot be read.
        """
        try:
            recipe = parse_spec(spec, call.collective).recipe
            if recipe == "native":
                return self._native(call, model, overlap, arithmetic)
            predictor = self._predictor(call, recipe)
            return predictor.predict(spec, call.bytes, self.machine, model, overlap, arithmetic, engine)
        except ValueError as error:
            raise StrettoError(str(error)) from None

    def fits(self, call: Call, spec: str) -> bool:
        """Whether a spec is of use on the topology."""
        recipe = parse_spec(spec, call.collective).recipe
        return recipe == "native" or not misfit(call.collective, recipe, parse_topology(call.topology))

    def _native(self, call: Call, model: str, overlap: str, arithmetic: bool) -> Prediction:
        """The library's own: the best textbook algorithm, whole messages, and nothing of our engine."""
        candidates = [
            self._predictor(call, recipe).predict(
                recipe, call.bytes, self.machine, model, overlap, arithmetic, False
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
    """What the busiest node's link needs at least, whatever the algorithm; None on one node.

    Without an injection limit a node is taken to be as fast as its ranks are together.
    """
    topology = parse_topology(call.topology)
    if topology.nodes < 2:
        return None
    ppn = Counter(topology.node_of)
    fastest = max(one.bandwidth for one in machine.protocols("network"))
    bandwidth = machine.node_bandwidth or fastest * max(ppn.values())
    return COLLECTIVES[call.collective].link_part(list(ppn.values())) * call.bytes / bandwidth


def candidates(collective: str, topology: str) -> list[str]:
    """Specs that are worth predicting: what fits the topology, whole and in segments."""
    where = parse_topology(topology)
    specs = ["native"]
    for algorithm in algorithms():
        if algorithm.collective != collective or misfit(collective, algorithm.usual, where):
            continue
        specs.append(algorithm.usual)
        specs += [f"{algorithm.usual}:{pipelining}" for pipelining in _PIPELINING]
    return specs
