# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.launch.settings.export import Shape
from stretto.launch.settings.export import export as write_and_print


def export(
    table: Annotated[Path, typer.Argument(help="A table that stretto tune wrote.")],
    to: Annotated[
        str, typer.Option(metavar="NAME", help="The MPI library of the table: openmpi, mpich or intelmpi.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file for the library's settings. Default: beside the table.",
            show_default=False,
        ),
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Only rules for this number of nodes.")] = None,
    ppn: Annotated[
        int | None, typer.Option(min=1, help="Only rules for this number of ranks per node.")
    ] = None,
) -> None:
    """Write settings for the MPI library itself: its own fastest algorithm for each size."""
    write_and_print(table, to, Shape(nodes, ppn), output)
