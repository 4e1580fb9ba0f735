# SPDX-License-Identifier: Apache-2.0
"""How good the model is: predictions beside what was measured, and what its choice would have cost."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field

from rich.table import Table

from stretto.model.walker import Call, Model
from stretto.predict.file import FORMAT, Prediction, median_error, worst
from stretto.predict.measured import Measured
from stretto.spec.topologies import parse_topology
from stretto.support.console import console_for
from stretto.support.units import format_bytes, format_seconds

_GOOD = 1.10
"""A choice within a tenth of the best is as good as the best."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the model alone would have chosen for a call."""

    call: Call
    best: str
    chosen: str
    regret: float
    """The part by which the choice took longer than the best."""
    pairs: list[Prediction]
    """All that was measured of the call."""


@dataclass(slots=True)
class Judgement:
    """All of them."""

    pairs: list[Prediction] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)

    @property
    def good_choices(self) -> float:
        """The part of the choices that are the best or nearly."""
        return sum(1 + choice.regret <= _GOOD for choice in self.choices) / len(self.choices)

    @property
    def mean_regret(self) -> float:
        """Of the model's choices, against the best that was measured."""
        return statistics.mean(choice.regret for choice in self.choices)


def judge(model: Model, measured: Measured, least_bytes: int, most_bytes: int) -> Judgement:
    """Predict what was measured. Of what has no schedule, the library's own, only `native` is predicted."""
    result = Judgement()
    for call, times in measured.by_call.items():
        if not least_bytes <= call.bytes <= most_bytes:
            continue
        # What does not fit the topology was measured as the library's own, and is not that spec's time.
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


def print_judgement(judgement: Judgement) -> None:
    """A line for each call, then the figures that count."""
    table = Table()
    for header in ("ranks", "size", "best measured", "the model's choice", "regret", "median error", "worst"):
        table.add_column(header, justify="left" if "measured" in header or "choice" in header else "right")
    for choice in judgement.choices:
        topology = parse_topology(choice.call.topology)
        errors = [abs(pair.error) for pair in choice.pairs]
        table.add_row(
            f"{topology.ranks} on {topology.nodes}",
            format_bytes(choice.call.bytes),
            choice.best,
            choice.chosen,
            f"{100 * choice.regret:.0f} %",
            f"{100 * statistics.median(errors):.0f} %",
            f"{100 * max(errors):.0f} %",
        )
    console = console_for(table)
    console.print(table)
    off = worst(judgement.pairs)
    what = f"{off.spec} of {format_bytes(off.bytes)} on {off.nodes} nodes of {off.ppn}"
    times = f"{format_seconds(off.predicted)} predicted, {format_seconds(off.measured)} measured"
    lines = [
        f"error of {len(judgement.pairs)} predictions: median {100 * median_error(judgement.pairs):.0f} %",
        f"the worst: {100 * off.error:+.0f} %, {what} ({times})",
        f"choices within 10 % of the best: {100 * judgement.good_choices:.0f} % of {len(judgement.choices)}",
        f"regret of choosing by the model alone: {100 * judgement.mean_regret:.1f} % (mean)",
    ]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def judgement_json(judgement: Judgement, machine: str, mpi: str) -> str:
    """As `stretto report` reads it (predictions.py)."""
    rows = [pair.model_dump() for pair in judgement.pairs]
    content = {"format": FORMAT, "version": 1, "machine": machine, "mpi": mpi, "predictions": rows}
    return json.dumps(content, indent=1) + "\n"
