# SPDX-License-Identifier: Apache-2.0
"""The journal of a tuning: a file beside its table, from which an interrupted tuning continues.

Each line is a JSON object, written and flushed at once:

    {"format": "stretto-tuning", "version": 1, "fingerprint": {...}}       the first line
    {"event": "measuring", "call": "allreduce", "bytes": 65536, "specs": [...]}
    {"event": "measured", "call": "allreduce", "bytes": 65536, "seconds": {"native": [...], ...}}
    {"event": "chosen", "call": "allreduce", "bytes": 65536, "spec": "ring", "native": {...},
     "seconds": {...}, "gain": {...}, "library": "ring", "library_gain": {...}}
    {"event": "remark", "call": "allreduce", "text": "..."}
    {"event": "ended"}                                   the job ended during a measurement

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
"""Identifies cluster, library and Stretto: a journal with another fingerprint is not continued."""


@dataclass
class Recorded:
    """The content of a journal."""

    fingerprint: Fingerprint = field(default_factory=dict)
    findings: dict[str, Findings] = field(default_factory=dict)
    """The findings by the name of the call: allreduce, iallreduce."""
    times: dict[str, dict[int, dict[str, float]]] = field(default_factory=dict)
    """Median seconds, by call, size and spec."""
    suspects: list[str] = field(default_factory=list)
    """The library's algorithms that were being tried for the first time when a job ended, such as
    `allreduce native(x)`."""

    @property
    def sizes(self) -> int:
        """The number of sizes that are decided."""
        return sum(len(found.choices) for found in self.findings.values())


class Journal:
    """A journal that is open for writing. `keeps`: whether to append to the earlier records."""

    def __init__(self, path: Path, fingerprint: Fingerprint, keeps: bool) -> None:
        self.path = path
        try:
            # Other users can predict the name, and may have made a link there.
            if not keeps:
                path.unlink(missing_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | (0 if keeps else os.O_EXCL)
            descriptor = os.open(path, flags, 0o666)
            if keeps:
                _cut_to_whole_lines(descriptor)
            self._file: TextIO = os.fdopen(descriptor, "a", encoding="utf-8")
        except OSError as error:
            raise StrettoError(f"{path} cannot be written: {error.strerror}") from None
        if not keeps:
            self._write(_FORMAT | {"fingerprint": fingerprint})

    def measuring(self, call: str, size: int, specs: Sequence[str]) -> None:
        """Record that a measurement begins."""
        self._write({"event": "measuring", "call": call, "bytes": size, "specs": list(specs)})

    def measured(self, call: str, size: int, samples: Samples) -> None:
        """Record the samples of the measurement."""
        self._write({"event": "measured", "call": call, "bytes": size, "seconds": samples})

    def ended(self) -> None:
        """Record that the job ended during the measurement."""
        self._write({"event": "ended"})

    def chosen(self, call: str, choice: Choice) -> None:
        """Record the choice at one size."""
        self._write({"event": "chosen", "call": call} | choice_to_json(choice))

    def remark(self, call: str, text: str) -> None:
        """Record a remark for people."""
        self._write({"event": "remark", "call": call, "text": text})

    def close(self, *, remove: bool) -> None:
        """Close the file. `remove`: delete it, since the tuning is complete."""
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
    """Returns the content of a journal; None if the file is missing or unusable.

    An incomplete last line is ignored.
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


def _cut_to_whole_lines(descriptor: int) -> None:
    text = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    os.truncate(descriptor, text.rfind(b"\n") + 1)
    os.lseek(descriptor, 0, os.SEEK_END)


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
    """Returns a choice in the JSON form of journals."""
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
    """Inverts choice_to_json(). Raises KeyError or TypeError for other objects."""
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
