# SPDX-License-Identifier: Apache-2.0
"""Data of a tuning: kinds of calls, samples, and the choice at each size."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from stretto.results.runs import BLOCKING, NON_BLOCKING
from stretto.support.estimates import Estimate

Samples = dict[str, list[float]]
"""Seconds of a call by spec; samples of the same index belong together."""


@dataclass(frozen=True, slots=True)
class CallKind:
    """A collective in one form, for which a table has a list of rows."""

    collective: str
    form: str

    @property
    def name(self) -> str:
        """The name as in the C interface: iallreduce."""
        if self.form == BLOCKING:
            return self.collective
        return f"i{self.collective}" if self.form == NON_BLOCKING else f"{self.collective}_init"

    @property
    def twin(self) -> CallKind | None:
        """The other MPI function that uses the same rows but has its own algorithms in the library."""
        return CallKind("reduce_scatter_block", self.form) if self.collective == "reduce_scatter" else None


@dataclass(frozen=True, slots=True)
class Choice:
    """The spec chosen at one size, with its times."""

    size: int
    spec: str
    native: Estimate
    """Seconds of a call by the MPI default."""
    seconds: Estimate
    """Seconds of a call by the chosen spec."""
    gain: Estimate
    """How many times as fast as `native` the spec is, by paired samples."""
    library: str | None = None
    """The best of the library's own algorithms, chosen or not."""
    library_gain: Estimate | None = None


@dataclass
class Findings:
    """The choices of a search so far, by size."""

    choices: dict[int, Choice] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def sorted(self) -> list[Choice]:
        """Returns the choices in ascending order of size."""
        return [self.choices[size] for size in sorted(self.choices)]


class Pool:
    """The samples at one size, grouped by request."""

    def __init__(self) -> None:
        self._requests: list[Samples] = []

    def add(self, samples: Samples) -> None:
        """Add the samples of one request."""
        self._requests.append(samples)

    def specs(self) -> list[str]:
        """Returns all specs that were measured."""
        return list(dict.fromkeys(spec for request in self._requests for spec in request))

    def seconds(self, spec: str) -> list[float]:
        """Returns all samples of a spec."""
        return [second for request in self._requests for second in request.get(spec, [])]

    def median(self, spec: str) -> float:
        """Returns the median seconds of a spec."""
        return statistics.median(self.seconds(spec))

    def paired(self, one: str, other: str) -> tuple[list[float], list[float]]:
        """Returns the samples of two specs from requests that have both."""
        both = [request for request in self._requests if one in request and other in request]
        return (
            [second for request in both for second in request[one]],
            [second for request in both for second in request[other]],
        )
