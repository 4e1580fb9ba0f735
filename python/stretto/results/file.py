# SPDX-License-Identifier: Apache-2.0
"""Reads the samples of a document of `stretto bench`. Figures are computed again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from stretto.results.runs import Run, Series
from stretto.spec.collectives import COLLECTIVES, LinkBound
from stretto.support.parts import Bytes, Part, Rate, Seconds

CollectiveName = Literal[
    "allreduce", "bcast", "reduce", "reduce_scatter", "reduce_scatter_block", "allgather", "allgatherv",
    "alltoall", "alltoallv", "alltoallw", "gather", "gatherv", "scatter", "scatterv",
    "scan", "exscan", "barrier",
]  # fmt: skip
Form = Literal["blocking", "non-blocking", "persistent"]


class _Overlap(Part):
    computation_seconds: list[Seconds]
    overlapped_seconds: list[Seconds]


class _Result(Part):
    bytes: Bytes
    in_place: bool
    spec: str
    form: Form
    chosen: str
    correct: bool
    wrong: int = 0
    inner: int
    with_barrier: bool
    seconds: Annotated[list[Seconds], Field(min_length=1)]
    overlap: _Overlap | None = None

    def series(self) -> Series:
        overlap = self.overlap
        return Series(
            self.bytes,
            self.in_place,
            self.spec,
            self.chosen,
            self.inner,
            self.seconds,
            self.correct,
            self.with_barrier,
            self.form,
            overlap.computation_seconds if overlap else [],
            overlap.overlapped_seconds if overlap else [],
            self.wrong,
        )


class RunFile(Part):
    """One run of the measuring program."""

    collective: CollectiveName
    root: int | None = None
    date: str = ""
    stretto: str = ""
    mpi: str
    machine: dict[str, Any] = Field(default_factory=dict)
    ranks: Annotated[int, Field(ge=1)]
    nodes: Annotated[int, Field(ge=1)]
    ppn: list[int]
    type: str
    progress_thread: bool = False
    test_every: float | None = None
    link_bytes_per_second: Rate | None = None
    link_bound_from_bytes: Bytes | None = None
    skipped_bytes: list[Bytes] = Field(default_factory=list)
    link_rate_has_headers: bool = True
    virtual: bool = False
    skew: float | None = None
    results: list[_Result]

    @model_validator(mode="after")
    def _repetitions_pair_up(self) -> RunFile:
        lengths: dict[tuple[int, bool], int] = {}
        for result in self.results:
            expected = lengths.setdefault((result.bytes, result.in_place), len(result.seconds))
            if len(result.seconds) != expected:
                raise ValueError(f"{result.spec} at {result.bytes} bytes has another number of samples")
        return self

    def run(self) -> Run:
        """The run that was measured."""
        return Run(
            COLLECTIVES[self.collective],
            self.root or 0,
            self.mpi,
            self.stretto,
            self.ranks,
            self.nodes,
            self.ppn,
            self.type,
            [result.series() for result in self.results],
            self.progress_thread,
            self.test_every or 0.0,
            self.skipped_bytes,
            self.virtual,
            self.skew,
        )

    def bound(self) -> LinkBound | None:
        """The bound that was stated for the run, or None."""
        if self.link_bytes_per_second is None:
            return None
        return LinkBound(
            self.link_bytes_per_second,
            COLLECTIVES[self.collective],
            self.ppn,
            self.link_bound_from_bytes or 0,
            self.link_rate_has_headers,
        )
