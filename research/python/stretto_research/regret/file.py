# SPDX-License-Identifier: Apache-2.0
"""`regret.json`: the results of `stretto regret` so far. The same command continues from it.

    {"format": "stretto-regret", "version": 1, "date": …, "command": […], "where": …, "machine": {…},
     "request": {"sizes": [1024, …], "repetitions": 9, "warmup": 100, "tables": […]},
     "summary": [{"network": "8x200mbit", "mean_regret": 0.02, …}, …], "overall": {…, "network": "all"},
     "jobs": [{"network": "8x200mbit", "mpi": "mpich5:ofi", "collective": "allreduce", "library": …,
               "ppn": […], "left_out": [], "error": "", "seconds": 71.3, "date": …, "load": {…},
               "sizes": [{"bytes": 1024, "chosen": …, "native": 1e-4, "auto": 1e-4, "best": 9e-5,
                          "best_spec": …, "gain": {…}, "regret": 0.1, "samples": {"native": […], …},
                          "first": […], "second": […]}, …]}, …]}

Without an MPI library (`"mpi": "sockets"`), `native` is null, `rule_spec` is the spec of the built-in rule,
and everything is compared with it. Such calls have summaries of their own, and `overall_without_library`.

Times are seconds of a call. `first` and `second` are the times of the first calls of two jobs, of which the
second knows what the first one has found. The figures are for people. Readers compute them anew from the
samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from stretto.results.runs import describe_machine
from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE
from stretto.support.json_files import document_text, read_json
from stretto.support.parts import Bytes, Part, Seconds, validate
from stretto_research.regret.figures import EARLY, Cell, Job, Spot, Summary, by_baseline, summarize

FORMAT = "stretto-regret"

Request = Mapping[str, Any]
"""The options on which all measurements depend."""


class _Size(Part):
    bytes: Bytes
    chosen: str
    samples: dict[str, Annotated[list[Seconds], Field(min_length=1)]]
    first: list[Seconds] = Field(default_factory=list)
    second: list[Seconds] = Field(default_factory=list)
    rule_spec: str | None = None

    @model_validator(mode="after")
    def _samples_pair_up(self) -> _Size:
        baseline = self.rule_spec or NATIVE
        if not {baseline, STRETTO} <= set(self.samples):
            raise ValueError(f"{baseline} or {STRETTO} is missing")
        if len({len(seconds) for seconds in self.samples.values()}) > 1:
            raise ValueError("the specs have different numbers of samples")
        return self


class _Job(Part):
    network: str
    mpi: str
    collective: str
    library: str = ""
    ppn: list[int] = Field(default_factory=list)
    left_out: list[Bytes] = Field(default_factory=list)
    error: str = ""
    seconds: float = 0.0
    date: str = ""
    load: dict[str, Any] = Field(default_factory=dict)
    sizes: list[_Size] = Field(default_factory=list)

    def job(self) -> Job:
        cells = [
            Cell(one.bytes, one.chosen, one.samples, one.first, one.second, one.rule_spec or "")
            for one in self.sizes
        ]
        return Job(
            self.network, self.mpi, self.collective, self.library, self.ppn, cells, self.left_out, self.error,
            self.seconds, self.date, self.load,
        )  # fmt: skip


class _File(Part):
    format: Literal["stretto-regret"]
    version: Literal[1]
    request: dict[str, Any]
    jobs: list[_Job]


def read_jobs(file: Path) -> tuple[Request, list[Job]]:
    """The request of a file, and its jobs."""
    found = validate(_File, read_json(file), file)
    return found.request, [one.job() for one in found.jobs]


def _cell_json(cell: Cell) -> dict[str, Any]:
    return {
        "bytes": cell.bytes,
        "chosen": cell.chosen,
        "native": cell.median(NATIVE) if NATIVE in cell.samples else None,
        "rule": cell.median(cell.rule) if cell.rule else None,
        "rule_spec": cell.rule or None,
        "auto": cell.auto,
        "best": cell.median(cell.best),
        "best_spec": cell.best,
        "gain": cell.gain.to_json(),
        "regret": cell.regret(),
        "samples": cell.samples,
        "first": cell.first,
        "second": cell.second,
    }


def _job_json(job: Job) -> dict[str, Any]:
    return {
        "network": job.network,
        "mpi": job.mpi,
        "collective": job.collective,
        "library": job.library,
        "ppn": job.ppn,
        "left_out": job.left_out,
        "error": job.error,
        "seconds": job.seconds,
        "date": job.date,
        "load": job.load,
        "sizes": [_cell_json(cell) for cell in job.cells],
    }


def _spot_json(spot: Spot) -> dict[str, Any]:
    job = spot.job
    return {"network": job.network, "mpi": job.mpi, "collective": job.collective, "bytes": spot.cell.bytes}


def _summary_json(network: str, found: Summary) -> dict[str, Any]:
    has_library = found.worst.job.has_library
    return {
        "network": network,
        "calls": len(found.spots),
        "mean_regret": found.regret,
        "worst_regret": found.worst.cell.regret(),
        "worst_regret_at": _spot_json(found.worst),
        "mean_regret_of_native": found.baseline_regret if has_library else None,
        "mean_regret_of_rule": None if has_library else found.baseline_regret,
        "mean_gain": found.gain,
        "least_gain": found.slowest.cell.gain.to_json(),
        "least_gain_at": _spot_json(found.slowest),
        "slower": len(found.slower),
        "early_regret": {
            job: {str(calls): found.early_regret(calls, second=job == "second") for calls in EARLY}
            for job in ("first", "second")
        },
    }


def regret_text(jobs: Sequence[Job], request: Request, command: Sequence[str]) -> str:
    """The content of the file."""
    summaries = [
        _summary_json(network, found)
        for some in by_baseline(jobs)
        for network in dict.fromkeys(job.network for job in some)
        if (found := summarize(job for job in some if job.network == network))
    ]
    whole = summarize(job for job in jobs if job.has_library)
    without_library = summarize(job for job in jobs if not job.has_library)
    content = {
        "machine": describe_machine(),
        "request": dict(request),
        "summary": summaries,
        "overall": _summary_json("all", whole) if whole else None,
        "overall_without_library": _summary_json("all", without_library) if without_library else None,
        "jobs": [_job_json(job) for job in jobs],
    }
    return document_text(FORMAT, command, "networks emulated on one machine", content)
