# SPDX-License-Identifier: Apache-2.0
"""Predicts, by the schedule walker, how much slower the built-in rule's choices are than the best specs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stretto import _core
from stretto.model.walker import Call, Model, candidates, machine_text
from stretto.spec.topologies import parse_topology

# The algorithms that MPI libraries use for non-blocking calls: simple ones, executed round by round (LibNBC
# of Open MPI, MPICH's scheduled collectives).
_BACKGROUND = {
    "allreduce": ("recursive_doubling", "rabenseifner", "reduce_broadcast"),
    "bcast": ("binomial",),
    "reduce": ("binomial",),
    "reduce_scatter": ("recursive_halving", "pairwise"),
    "allgather": ("ring", "recursive_doubling"),
    "alltoall": ("linear", "pairwise"),
    "alltoallv": ("linear", "pairwise"),
    "gather": ("binomial", "linear"),
    "gatherv": ("linear",),
    "scatter": ("binomial", "linear"),
    "scatterv": ("linear",),
    "scan": ("recursive_doubling", "chain"),
    "exscan": ("recursive_doubling", "chain"),
    "barrier": ("dissemination",),
}

RULED = ("allreduce", "bcast", "reduce", "reduce_scatter", "allgather")
"""The collectives for which the figures of the rule decide. The choices for alltoall and barrier were
measured; the rule leaves the others to the MPI library."""

OPEN_MPI = {"bcast": ("linear",), "reduce": ("binomial",)}
"""The choices of Open MPI 4.1's own tables on a few nodes that are not the best."""


def machine_in_use(name: str) -> _core.Machine:
    """A machine without bursts: in a row of calls, only the first one finds an idle link."""
    content = json.loads(machine_text(name))
    for limit in content.get("limits", {}).values():
        limit.pop("burst", None)
    return _core.Machine(json.dumps(content))


@dataclass(frozen=True, slots=True)
class RuleCase:
    """One call: the rule's choice, MPI default and the best spec, with predicted seconds."""

    call: Call
    chosen: str
    seconds: float
    native: float
    best: str
    best_seconds: float

    @property
    def regret(self) -> float:
        """How much longer the choice takes than the best, as a fraction of the best time."""
        return self.seconds / self.best_seconds - 1


class RuleJudge:
    """Compares the rule with the walker's best spec on one machine. Predictions are cached.

    `library`: the algorithms of the MPI library's blocking calls, by collective; by default the best textbook
    algorithm.
    """

    def __init__(
        self,
        model: Model,
        *,
        blocking: bool = True,
        library: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._model = model
        self._blocking = blocking
        self._library = (library or {}) if blocking else _BACKGROUND
        self._known: dict[tuple[Call, str], float] = {}

    def choice(self, call: Call, rule: Mapping[str, int] | None = None) -> str:
        """The rule's spec; `rule` replaces some of its figures."""
        name = call.collective if self._blocking else f"i{call.collective}"
        return _core.choose(name, call.bytes, parse_topology(call.topology), rule or {})

    def case(self, call: Call) -> RuleCase:
        """The rule's choice and the best spec of one call."""
        chosen = self.choice(call)
        tried = [chosen, *candidates(call.collective, call.topology)]
        best = min(tried, key=lambda spec: self.seconds(call, spec))
        return RuleCase(
            call=call,
            chosen=chosen,
            seconds=self.seconds(call, chosen),
            native=self.seconds(call, "native"),
            best=best,
            best_seconds=self.seconds(call, best),
        )

    def seconds(self, call: Call, spec: str) -> float:
        """Predicted seconds of the call with this spec."""
        key = (call, spec)
        if key not in self._known:
            self._known[key] = self._predict(call, spec)
        return self._known[key]

    def _predict(self, call: Call, spec: str) -> float:
        if spec != "native" or call.collective not in self._library:
            return self._model.predict(call, spec).seconds
        fitting = [one for one in self._library[call.collective] if self._model.fits(call, one)]
        return min(self._model.predict(call, one).seconds for one in fitting)


def mean_regret(cases: Sequence[RuleCase]) -> float:
    """The mean regret of all cases."""
    return statistics.mean(one.regret for one in cases)


def grid(collectives: Iterable[str], topologies: Iterable[str], sizes: Iterable[int]) -> list[Call]:
    """Every combination of collective, topology and size."""
    return [
        Call(collective, size, where) for collective in collectives for where in topologies for size in sizes
    ]
