# SPDX-License-Identifier: Apache-2.0
"""`guidelines.json`: the checks of performance guidelines, with all samples.

{"format": "stretto-guidelines", "version": 1, "date": …, "command": […], "where": …,
 "libraries": [
   {"mpi": "Open MPI v4.1.4", "ranks": 8, "nodes": 8, "ppn": […], "type": "float",
    "checks": [{"collective": "allreduce", "left": "allreduce", "right": "reduce+bcast",
                "bytes": 65536, "spec": "native", "violated": true,
                "ratio": {"median": …, "low": …, "high": …, "coverage": …},
                "left_chosen": …, "right_chosen": …, "left_seconds": […], "right_seconds": […]}, …]}, …]}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from stretto.launch.mpi import library_name
from stretto.results.file import CollectiveName
from stretto.results.runs import Series
from stretto.support.estimates import estimate_ratio
from stretto.support.json_files import document_text
from stretto.support.parts import Bytes, Part, Seconds, validate
from stretto.support.units import format_place
from stretto_research.study.guidelines import Check, Guideline

FORMAT = "stretto-guidelines"
GUIDELINES_FILE = "guidelines.json"


@dataclass(slots=True)
class LibraryChecks:
    """The checks of one MPI library, for the MPI default and with Stretto."""

    library: str
    ranks: int
    nodes: int
    ppn: list[int]
    type: str
    checks: list[Check] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The MPI library with its version, and the ranks and nodes on which it ran."""
        return f"{library_name(self.library)}, {format_place(self.ranks, self.nodes)}"


@dataclass(slots=True)
class Guidelines:
    """The checks of several MPI libraries."""

    where: str
    libraries: list[LibraryChecks] = field(default_factory=list)


class _Check(Part):
    collective: CollectiveName
    left: str
    right: str
    bytes: Bytes
    spec: Literal["native", "auto"]
    left_chosen: str
    right_chosen: str
    left_seconds: Annotated[list[Seconds], Field(min_length=1)]
    right_seconds: list[Seconds]

    @model_validator(mode="after")
    def _repetitions_pair_up(self) -> _Check:
        if len(self.left_seconds) != len(self.right_seconds):
            raise ValueError("left_seconds and right_seconds have different lengths")
        return self

    def check(self) -> Check:
        def side(text: str, chosen: str, seconds: list[float]) -> Series:
            mockup = "" if text == self.collective else text
            return Series(self.bytes, False, self.spec, chosen, 1, seconds, True, mockup=mockup)

        return Check(
            Guideline(self.collective, self.left, self.right),
            self.bytes,
            self.spec,
            side(self.left, self.left_chosen, self.left_seconds),
            side(self.right, self.right_chosen, self.right_seconds),
            estimate_ratio(self.left_seconds, self.right_seconds),
        )


class _Library(Part):
    mpi: str
    ranks: int
    nodes: int
    ppn: list[int]
    type: str
    checks: list[_Check]


class _File(Part):
    format: Literal["stretto-guidelines"]
    version: Literal[1]
    where: str
    libraries: list[_Library]


def _check_json(one: Check) -> dict[str, Any]:
    return {
        "collective": one.guideline.collective,
        "left": one.guideline.left,
        "right": one.guideline.right,
        "bytes": one.bytes,
        "spec": one.spec,
        "violated": one.violated,
        "ratio": {
            "median": one.ratio.median,
            "low": one.ratio.low,
            "high": one.ratio.high,
            "coverage": one.ratio.coverage,
        },
        "left_chosen": one.left.chosen,
        "right_chosen": one.right.chosen,
        "left_seconds": one.left.seconds,
        "right_seconds": one.right.seconds,
    }


def guidelines_text(found: Guidelines, command: list[str]) -> str:
    """Returns the content of guidelines.json."""
    libraries = [
        {
            "mpi": one.library,
            "ranks": one.ranks,
            "nodes": one.nodes,
            "ppn": one.ppn,
            "type": one.type,
            "checks": [_check_json(check) for check in one.checks],
        }
        for one in found.libraries
    ]
    return document_text(FORMAT, command, found.where, {"libraries": libraries})


def parse_guidelines(content: dict[str, Any], file: Path) -> Guidelines:
    """Returns the checks in the JSON object of a file. Ratios are computed anew from the samples."""
    found = validate(_File, content, file)
    return Guidelines(
        found.where,
        [
            LibraryChecks(
                one.mpi, one.ranks, one.nodes, one.ppn, one.type, [check.check() for check in one.checks]
            )
            for one in found.libraries
        ],
    )
