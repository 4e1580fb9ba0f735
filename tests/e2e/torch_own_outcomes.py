# SPDX-License-Identifier: Apache-2.0
"""The file in which torch_own_tests.py records the outcomes of tests."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

FILE = "outcomes.jsonl"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a test came out: `began` if the job ended in it."""

    test: str
    result: str  # began, passed, skipped or failed
    reason: str = ""


def read_outcomes(folder: Path) -> dict[str, Outcome]:
    """The last outcome of each test."""
    file = folder / FILE
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    outcomes = (Outcome(**json.loads(line)) for line in lines)
    return {outcome.test: outcome for outcome in outcomes}


def note_outcome(folder: Path, outcome: Outcome) -> None:
    """Write it down."""
    with (folder / FILE).open("a", encoding="utf-8") as file:
        print(json.dumps(dataclasses.asdict(outcome)), file=file)
