# SPDX-License-Identifier: Apache-2.0
"""Judges the model by measurements: the errors of its predictions, and the regret of its choices."""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field

from stretto.explain.measured import Measured
from stretto.model.walker import Call, Model
from stretto.spec.topologies import parse_topology
from stretto.support.json_files import document_text
from stretto_research.predict.file import FORMAT, Prediction, median_error, worst

_GOOD = 1.10
"""A choice within 10 % of the best counts as good."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The model's choice for a call, and the best measured spec."""

    call: Call
    best: str
    chosen: str
    regret: float
    """How much longer the choice took than the best, as a fraction of the best."""
    pairs: list[Prediction]
    """Predicted and measured times of all specs of the call."""


@dataclass(slots=True)
class Judgement:
    """All predictions and choices that could be judged."""

    pairs: list[Prediction] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)

    @property
    def good_choices(self) -> float:
        """The fraction of the choices that are within 10 % of the best."""
        return sum(1 + choice.regret <= _GOOD for choice in self.choices) / len(self.choices)

    @property
    def mean_regret(self) -> float:
        """The mean regret of the model's choices."""
        return statistics.mean(choice.regret for choice in self.choices)


def judge(model: Model, measured: Measured, least_bytes: int, most_bytes: int) -> Judgement:
    """Predict what was measured. The MPI library's own algorithms have no schedules and are left out."""
    result = Judgement()
    for call, times in measured.by_call.items():
        if not least_bytes <= call.bytes <= most_bytes:
            continue
        # A spec that does not fit the topology was replaced by the MPI library's call when it was measured.
        known = {
            spec: time
            for spec, time in times.items()
            if not spec.startswith(("native:", "native(", "auto")) and model.fits(call, spec)
        }
        topology = parse_topology(call.topology)
        pairs = [
            Prediction(
                collective=call.collective,
                spec=spec,
                bytes=call.bytes,
                nodes=topology.nodes,
                ppn=topology.max_ppn,
                predicted=model.predict(call, spec).seconds,
                measured=time,
            )
            for spec, time in sorted(known.items())
        ]
        own = [pair for pair in pairs if pair.spec != "native"]
        result.pairs += own
        if len(pairs) > 1:
            best = min(pairs, key=lambda pair: pair.measured)
            chosen = min(pairs, key=lambda pair: pair.predicted)
            regret = chosen.measured / best.measured - 1
            result.choices.append(Choice(call, best.spec, chosen.spec, regret, own))
    return result


def judgement_json(judgement: Judgement, machine: str, mpi: str) -> str:
    """The document of the predictions and choices (file.py), which `stretto report` reads."""
    choices = [
        {
            "collective": one.call.collective,
            "bytes": one.call.bytes,
            "topology": one.call.topology,
            "best": one.best,
            "chosen": one.chosen,
            "regret": one.regret,
            "median_error": median_error(one.pairs) if one.pairs else None,
            "worst_error": worst(one.pairs).error if one.pairs else None,
        }
        for one in judgement.choices
    ]
    content = {
        "machine": machine,
        "mpi": mpi,
        "median_error": median_error(judgement.pairs),
        "good_choices": judgement.good_choices if choices else None,
        "mean_regret": judgement.mean_regret if choices else None,
        "choices": choices,
        "predictions": [pair.model_dump() for pair in judgement.pairs],
    }
    return document_text(FORMAT, sys.argv, mpi, content)
