# SPDX-License-Identifier: Apache-2.0
"""What a tuning measures and finds: samples, and the choice at each size."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from stretto.results.runs import BLOCKING, NON_BLOCKING
from stretto.support.estimates import Estimate

Samples = dict[str, list[float]]
"""Seconds of a call by spec; those of one index belong together."""


@dataclass(frozen=True, slots=True)
class CallKind:
    """What a list of a table's rows is for: a collective in a form."""

    collective: str
    form: str

    @property
    def name(self) -> str:
        """As in the C interface: iallreduce."""
        if self.form == BLOCKING:
            return self.collective
        return f"i{self.collective}" if self.form == NON_BLOCKING else f"{self.collective}_init"

    @property
    def twin(self) -> CallKind | None:
        """Another function that the same rows are for, with algorithms of its own in the library."""
        return CallKind("reduce_scatter_block", self.form) if self.collective == "reduce_scatter" else None


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found at one size."""

    size: int
    spec: str
    native: Estimate
    """Seconds of a call by the library itself."""
    seconds: Estimate
    """Seconds of a call by the spec."""
    gain: Estimate
    """Times faster than `native`, paired."""
    library: str | None = None
    """The best of the library's own algorithms, whether chosen or not."""
    library_gain: Estimate | None = None


@dataclass
class Findings:
    """What a search came to, as far as it got."""

    choices: dict[int, Choice] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def sorted(self) -> list[Choice]:
        """By size."""
        return [self.choices[size] for size in sorted(self.choices)]


class Pool:
    """The samples at one size, request by request."""

    def __init__(self) -> None:
        self._requests: list[Samples] = []

    def add(self, samples: Samples) -> None:
        """What one request gave."""
        self._requests.append(samples)

    def specs(self) -> list[str]:
        """All that were measured."""
        return list(dict.fromkeys(spec for request in self._requests for spec in request))

    def seconds(self, spec: str) -> list[float]:
        """All samples of a spec."""
        return [second for request in self._requests for second in request.get(spec, [])]

    def median(self, spec: str) -> float:
        """Of all samples of a spec, in seconds."""
        return statistics.median(self.seconds(spec))

    def paired(self, one: str, other: str) -> tuple[list[float], list[float]]:
        """The samples of requests that have both."""
        both = [request for request in self._requests if one in request and other in request]
        return (
            [second for request in both for second in request[one]],
            [second for request in both for second in request[other]],
        )
