# SPDX-License-Identifier: Apache-2.0
"""`study.json`: the runs of a study with all their samples.

    {"format": "stretto-study", "version": 1, "date": …, "stretto": …, "command": […],
     "where": "one line: where it was measured",
     "runs": [{… what `stretto bench -o` writes for one run (results.runs.to_json) …,
               "incomplete": "why it ended early, or empty"}, …],
     "failed": [{"mpi": "mpich5", "error": "…"}, …],
     "summary": [{"mpi": …, "collective": …, "sizes": [{"bytes": …, "auto": …, "best": …, …}, …],
                  "mean_gains": {…}}, …]}

The summary is for people. Programs that read the file compute all figures anew from the samples.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from stretto.launch.mpi import library_name
from stretto.results.file import RunFile
from stretto.results.runs import Row, Run, summarize, to_json
from stretto.spec.collectives import LinkBound
from stretto.studies.analysis import SizeFigures, by_size, gain_of, mean_gains
from stretto.support.json_files import document_text
from stretto.support.parts import Part, validate
from stretto.support.units import format_place

FORMAT = "stretto-study"
STUDY_FILE = "study.json"


@dataclass(slots=True)
class StudyRun:
    """One run: one collective on one MPI library."""

    run: Run
    bound: LinkBound | None
    incomplete: str = ""
    """The reason why the run ended early; empty if it is complete."""
    machine: dict[str, Any] = field(default_factory=dict)
    """The machine where it was measured (results.runs.describe_machine)."""
    date: str = ""
    busy: list[str] = field(default_factory=list)
    """A line for each load of the machine that affected the results."""
    rows: list[Row] = field(init=False)
    sizes: list[SizeFigures] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = summarize(self.run, self.bound)
        self.sizes = by_size(self.rows)

    @property
    def name(self) -> str:
        """The MPI library with its version."""
        return library_name(self.run.library)

    @property
    def place(self) -> str:
        """The ranks and nodes as text: `8 ranks on 8 nodes`."""
        return format_place(self.run.ranks, self.run.nodes)

    @property
    def title(self) -> str:
        """A title with what was measured, on which library, and where."""
        return f"{self.run.collective.function} of {self.run.type}, {self.name}, {self.place}"


@dataclass(slots=True)
class Study:
    """The runs of a study, and where they were measured."""

    where: str
    runs: list[StudyRun] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    """The names of MPI libraries that could not be measured, with the reasons."""
    date: str = ""
    stretto: str = ""

    @property
    def failures(self) -> list[str]:
        """A line for each library that could not be measured, or only in part."""
        incomplete = [f"{run.name}: {run.incomplete}" for run in self.runs if run.incomplete]
        return [*(f"{mpi}: {error}" for mpi, error in self.failed), *incomplete]


class _Load(Part):
    busy: list[str] = Field(default_factory=list)


class _Run(RunFile):
    incomplete: str = ""
    load: _Load | None = None

    def study_run(self) -> StudyRun:
        busy = self.load.busy if self.load else []
        return StudyRun(self.run(), self.bound(), self.incomplete, self.machine, self.date, busy)


class _Failure(Part):
    mpi: str
    error: str


class _File(Part):
    format: Literal["stretto-study"]
    version: Literal[1]
    date: str = ""
    stretto: str = ""
    where: str
    runs: list[_Run]
    failed: list[_Failure] = Field(default_factory=list)


def _size_json(one: SizeFigures) -> dict[str, Any]:
    def row_json(row: Row | None) -> dict[str, Any] | None:
        if row is None:
            return None
        return {
            "spec": row.series.spec,
            "chosen": row.series.chosen,
            "seconds": row.seconds.median,
            "gain": gain_of(row).median,
        }

    return {
        "bytes": one.bytes,
        "auto": row_json(one.native),
        "best": row_json(one.best),
        "stretto": row_json(one.stretto),
        "library": row_json(one.library),
        "pipelining": row_json(one.pipelining),
    }


def study_text(study: Study, command: list[str]) -> str:
    """Returns the content of study.json."""
    content = {
        "stretto": next((one.run.stretto for one in study.runs), ""),
        "failed": [{"mpi": mpi, "error": error} for mpi, error in study.failed],
        "summary": [
            {
                "mpi": one.name,
                "collective": one.run.collective.name,
                "sizes": [_size_json(size) for size in one.sizes],
                "mean_gains": asdict(mean_gains(one.sizes)),
            }
            for one in study.runs
        ],
        "runs": [
            {"incomplete": one.incomplete, **to_json(one.run, one.rows, one.bound, command)}
            for one in study.runs
        ],
    }
    return document_text(FORMAT, command, study.where, content)


def parse_study(content: dict[str, Any], file: Path) -> Study:
    """Returns the study in the JSON object of a file."""
    found = validate(_File, content, file)
    return Study(
        found.where,
        [one.study_run() for one in found.runs],
        [(one.mpi, one.error) for one in found.failed],
        found.date,
        found.stretto,
    )


def parse_bench(content: dict[str, Any], file: Path) -> Study:
    """Returns a study with the run of a `stretto bench` file."""
    run = validate(_Run, content, file).study_run()
    return Study(f"{file.name}, by stretto bench", [run], [], run.date, run.run.stretto)
