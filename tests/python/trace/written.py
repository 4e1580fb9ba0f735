# SPDX-License-Identifier: Apache-2.0
"""Traces as a job of one rank writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_trace(folder: Path, events: list[dict[str, Any]]) -> Path:
    """Write the trace of a job of one rank. Return its folder."""
    about = {
        "stretto": "0.1.0",
        "job": "1",
        "rank": 0,
        "ranks": 1,
        "node": 0,
        "clock": 0,
        "clock_error_us": 0,
    }
    content = {"otherData": about, "traceEvents": events}
    (folder / "rank-0.json").write_text(json.dumps(content), encoding="utf-8")
    return folder
