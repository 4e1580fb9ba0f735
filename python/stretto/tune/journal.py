# SPDX-License-Identifier: Apache-2.0
"""What a tuning has measured so far: a file beside its table, by which an interrupted one goes on.

Each line is a JSON object, written and flushed when it is known:

    {"format": "stretto-tuning", "version": 1, "fingerprint": {...}}       the first
    {"event": "measuring", "call": "allreduce", "bytes": 65536, "specs": [...]}
    {"event": "measured", "call": "allreduce", "bytes": 65536, "seconds": {"native": [...], ...}}
    {"event": "chosen", "call": "allreduce", "bytes": 65536, "spec": "ring", "native": {...},
     "seconds": {...}, "gain": {...}, "library": "ring", "library_gain": {...}}
    {"event": "remark", "call": "allreduce", "text": "..."}
    {"event": "ended"}                                   the job, in the middle of a measurement

Estimates are objects of median, low, high and coverage.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from stretto.spec.native import library_name
from stretto.support.errors import StrettoError
from stretto.support.estimates import Estimate
from stretto.tune.findings import Choice, Findings, Samples

_FORMAT = {"format": "stretto-tuning", "version": 1}

Fingerprint = dict[str, Any]
"""Of what was measured: another cluster, library or Stretto has another."""


@dataclass
class Recorded:
    """What a journal holds."""

    fingerprint: Fingerprint = field(default_factory=dict)
    findings: dict[str, Findings] = field(default_factory=dict)
    """By call: allreduce, iallreduce."""
    times: dict[str, dict[int, dict[str, float]]] = field(default_factory=dict)
    """Median seconds, by call, size and spec."""
    suspects: list[str] = field(default_factory=list)
    """The library's algorithms that were tried for the first time when a job ended: `allreduce native(x)`."""

    @property
    def sizes(self) -> int:
        """How many are decided."""
        return sum(len(found.choices) for found in self.findings.values())


class Journal:
    """Opened for writing: what was recorded before is kept, or not."""

    def __init__(self, path: Path, fingerprint: Fingerprint, keeps: bool) -> None:
        self.path = path
        try:
            if keeps:
                _cut_to_whole_lines(path)
            self._file: TextIO = path.open("a" if keeps else "w", encoding="utf-8")
        except OSError as error:
            raise StrettoError(f"{path} cannot be written: {error.strerror}") from None
        if not keeps:
            self._write(_FORMAT | {"fingerprint": fingerprint})

    def measuring(self, call: str, size: int, specs: Sequence[str]) -> None:
        """Before a measurement."""
        self._write({"event": "measuring", "call": call, "bytes": size, "specs": list(specs)})

    def measured(self, call: str, size: int, samples: Samples) -> None:
        """After it."""
        self._write({"event": "measured", "call": call, "bytes": size, "seconds": samples})

    def ended(self) -> None:
        """The job ended in the middle of it."""
        self._write({"event": "ended"})

    def chosen(self, call: str, choice: Choice) -> None:
        """A size is decided."""
        self._write({"event": "chosen", "call": call} | choice_to_json(choice))

    def remark(self, call: str, text: str) -> None:
        """Something that people should know."""
        self._write({"event": "remark", "call": call, "text": text})

    def close(self, *, remove: bool) -> None:
        """Nothing more is written; `remove`: nor is it needed any more."""
        self._file.close()
        if remove:
            self.path.unlink(missing_ok=True)

    def _write(self, line: dict[str, Any]) -> None:
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StrettoError(f"{self.path} cannot be written: {error.strerror}") from None


def read_journal(path: Path) -> Recorded | None:
    """What is in the file; None if there is none, or nothing of use.

    A last line that is cut short is left out.
    """
    try:
        text = path.read_text(encoding="utf-8")
        head, *events = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        if {key: head[key] for key in _FORMAT} != _FORMAT:
            return None
        recorded = Recorded(head["fingerprint"])
        _read_events(events, recorded)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return recorded


def _cut_to_whole_lines(path: Path) -> None:
    text = path.read_bytes()
    os.truncate(path, text.rfind(b"\n") + 1)


def _read_events(events: list[dict[str, Any]], recorded: Recorded) -> None:
    measured: set[tuple[str, str]] = set()
    measuring: list[tuple[str, str]] = []
    for event in events:
        match event["event"]:
            case "measuring":
                measuring = [(event["call"], spec) for spec in event["specs"]]
            case "measured":
                measured |= {(event["call"], spec) for spec in event["seconds"]}
                times = recorded.times.setdefault(event["call"], {}).setdefault(int(event["bytes"]), {})
                times |= {spec: statistics.median(values) for spec, values in event["seconds"].items()}
            case "ended":
                recorded.suspects += [
                    f"{call} {spec}"
                    for call, spec in measuring
                    if library_name(spec) is not None and (call, spec) not in measured
                ]
            case "chosen":
                choice = choice_from_json(event)
                recorded.findings.setdefault(event["call"], Findings()).choices[choice.size] = choice
            case "remark":
                recorded.findings.setdefault(event["call"], Findings()).remarks.append(event["text"])


def choice_to_json(choice: Choice) -> dict[str, Any]:
    """As journals and tables have it."""
    return {
        "bytes": choice.size,
        "spec": choice.spec,
        "native": choice.native.to_json(),
        "seconds": choice.seconds.to_json(),
        "gain": choice.gain.to_json(),
        "library": choice.library,
        "library_gain": choice.library_gain.to_json() if choice.library_gain else None,
    }


def choice_from_json(object_: dict[str, Any]) -> Choice:
    """The inverse of choice_to_json; KeyError or TypeError if it is none."""
    gain = object_["library_gain"]
    return Choice(
        int(object_["bytes"]),
        str(object_["spec"]),
        Estimate(**object_["native"]),
        Estimate(**object_["seconds"]),
        Estimate(**object_["gain"]),
        object_["library"],
        Estimate(**gain) if gain is not None else None,
    )
