# SPDX-License-Identifier: Apache-2.0
"""Options of commands that print results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document in place of tables.")]
ResultFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the JSON document of --json into this file."),
]


def picture_file(what: str) -> Any:
    """The option --png of a command that can draw `what`."""
    return typer.Option("--png", metavar="FILE", help=f"Draw {what} into this PNG file.")
