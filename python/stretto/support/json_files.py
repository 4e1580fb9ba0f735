# SPDX-License-Identifier: Apache-2.0
"""Reads and writes JSON documents."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stretto.support.errors import StrettoError


def document_text(
    format_name: str, command: Sequence[str], where: str | None, content: Mapping[str, Any]
) -> str:
    """The text of a document of results, for a file or for standard output.

    Its format, the command and the place (None if it does not matter) precede the content.
    """
    head = {
        "format": format_name,
        "version": 1,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(command),
        **({} if where is None else {"where": where}),
    }
    return json.dumps(_without_infinities(head | dict(content)), indent=1, allow_nan=False) + "\n"


def _without_infinities(value: Any) -> Any:
    """The value with null for each number that JSON cannot express."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _without_infinities(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(one) for one in value]
    return value


def read_json(file: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"), parse_constant=lambda _: math.nan)
    except OSError as error:
        raise StrettoError(f"{file} could not be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise StrettoError(f"{file} is not JSON: expected one of the files that Stretto writes") from None
    if not isinstance(content, dict):
        raise StrettoError(
            f"{file} does not hold a JSON object: expected one of the files that Stretto writes"
        )
    return content
