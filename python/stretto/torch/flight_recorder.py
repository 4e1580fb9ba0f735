# SPDX-License-Identifier: Apache-2.0
"""Adds the calls of Stretto's groups to the dumps of PyTorch's Flight Recorder, which has those of gloo."""

from __future__ import annotations

import functools
import json
import pickle
from typing import Any

import torch.distributed

import torch
from stretto.torch.extension import load_extension


def mend() -> None:
    """Let PyTorch's dumps show the calls of Stretto's groups as those of gloo. To be called once."""
    its: Any = torch._C._distributed_c10d
    for name, add in (("_dump_fr_trace", _pickled), ("_dump_fr_trace_json", _as_json)):
        if hasattr(its, name):
            setattr(its, name, add(getattr(its, name)))


def _pickled(dump: Any) -> Any:
    @functools.wraps(dump)
    def tell(
        includeCollectives: bool | None = None,  # noqa: N803  PyTorch's names
        includeStackTraces: bool | None = None,  # noqa: N803
        onlyActive: bool | None = None,  # noqa: N803
    ) -> bytes:
        content = pickle.loads(dump(includeCollectives, includeStackTraces, onlyActive))
        calls = _add(content, includeStackTraces is not False, onlyActive is True, int)
        if includeCollectives is not False:
            content["entries"] = _in_order(content.get("entries", []), calls)
        return pickle.dumps(content, protocol=2)

    return tell


def _as_json(dump: Any) -> Any:
    @functools.wraps(dump)
    def tell(includeCollectives: bool | None = None, onlyActive: bool | None = None) -> bytes:  # noqa: N803
        content = json.loads(dump(includeCollectives, onlyActive))
        calls = _add(content, False, onlyActive is True, str)
        if includeCollectives is not False and calls:
            for call in calls:
                for key in ("time_discovered_started_ns", "time_discovered_completed_ns"):
                    call[key] = call[key] or 0
            content["entries"] = _in_order(content.get("entries", []), calls)
        return json.dumps(content, separators=(",", ":")).encode()

    return tell


def _add(content: dict[str, Any], with_frames: bool, only_active: bool, number: type) -> list[Any]:
    """Add Stretto's groups to a dump. Returns their calls."""
    calls, groups = load_extension().recorded_calls(with_frames, only_active)
    for one, (name, description, ranks, started, completed) in groups.items():
        group = {"name": name, "desc": description, "ranks": str(ranks)}
        status = {"enqueued": started, "started": started, "completed": completed}
        content["pg_config"].setdefault(name, group)
        content["pg_status"].setdefault(
            str(one), {f"last_{word}_collective": number(count) for word, count in status.items()}
        )
    return list(calls)


def _in_order(*calls: list[Any]) -> list[Any]:
    return sorted((one for some in calls for one in some), key=lambda one: one["time_created_ns"])
