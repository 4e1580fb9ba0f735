# SPDX-License-Identifier: Apache-2.0
"""What the built-in rule loses against the best spec, by the schedule walker."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stretto import _core
from stretto.model.walker import Call, Model, candidates, machine_text
from stretto.results.runs import BLOCKING, NON_BLOCKING
from stretto.spec.topologies import parse_topology
from stretto.tune.findings import CallKind

# What libraries take for calls that are not blocking: simple algorithms, which one of them or the other is
# known to have (LibNBC of Open MPI, MPICH's scheduled collectives), carried out round by round.
_BACKGROUND = {
    "allreduce": ("recursive_doubling", "rabenseifner", "reduce_broadcast"),
    "bcast": ("binomial",),
    "reduce": ("binomial",),
    "reduce_scatter": ("recursive_halving", "pairwise"),
    "allgather": ("ring", "recursive_doubling"),
}

# What Open MPI 4.1 takes on a few nodes, by its own tables, where that is not the best.
OPEN_MPI = {"bcast": ("linear",), "reduce": ("binomial",)}


def machine_in_use(name: str) -> _core.Machine:
    """A machine as calls in a row find it: what an idle link has saved up serves the first of them only."""
    content = json.loads(machine_text(name))
    for limit in content.get("limits", {}).values():
        limit.pop("burst", None)
    return _core.Machine(json.dumps(content))


@dataclass(frozen=True, slots=True)
class RuleCase:
    """A call, and what it is predicted to take, in seconds."""

    call: Call
    chosen: str
    seconds: float
    native: float
    best: str
    best_seconds: float

    @property
    def regret(self) -> float:
        """The part of the best time by which the choice takes longer."""
        return self.seconds / self.best_seconds - 1


class RuleJudge:
    """Holds the rule against the walker, on one machine. Remembers what it has predicted.

    `library`: by collective, what the library's own blocking calls are; else the best textbook algorithm.
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
        """The rule's spec; with `rule`, by other figures than its own."""
        kind = CallKind(call.collective, BLOCKING if self._blocking else NON_BLOCKING)
        return _core.choose(kind.name, call.bytes, parse_topology(call.topology), rule or {})

    def case(self, call: Call) -> RuleCase:
        """The rule's choice and the best one."""
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
        """What the call takes by the spec."""
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
    """Over all of them."""
    return statistics.mean(one.regret for one in cases)


def grid(collectives: Iterable[str], topologies: Iterable[str], sizes: Iterable[int]) -> list[Call]:
    """All calls of these."""
    return [
        Call(collective, size, where) for collective in collectives for where in topologies for size in sizes
    ]
