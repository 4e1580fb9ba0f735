# SPDX-License-Identifier: Apache-2.0
"""The options of `stretto fabric`'s commands."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from stretto.cli.program import Command, Group
from stretto.cli.result_options import AsJson
from stretto.model.fabric_file import LATEST, find_fabric
from stretto.model.known_fabrics import (
    entries_json,
    fabric_json,
    forget,
    list_entries,
    nothing_text,
    print_entries,
    print_fabric,
)
from stretto.support.console import print_result
from stretto.support.errors import StrettoError

fabric = typer.Typer(
    name="fabric",
    cls=Group,
    add_completion=False,
    no_args_is_help=True,
    help="What jobs have found out about networks: list, show or forget it.",
)


@fabric.command("list", cls=Command)
def list_(as_json: AsJson = False) -> None:
    """List what jobs have found out: a fabric file for each network, the latest first."""
    entries = list_entries(os.environ)
    print_result(as_json, lambda: entries_json(entries), lambda: print_entries(entries, os.environ))


@fabric.command(cls=Command)
def show(
    file: Annotated[
        str,
        typer.Argument(
            metavar="[FILE|latest]", help="A fabric file, or its name in the list.", show_default=False
        ),
    ] = LATEST,
    as_json: AsJson = False,
) -> None:
    """Show what is known of a network, and what duels have decided on it."""
    known = find_fabric(file, os.environ)
    print_result(as_json, lambda: fabric_json(known), lambda: print_fabric(known))


@fabric.command("forget", cls=Command)
def forget_(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|latest|all", help="A fabric file, its name in the list, or all.", show_default=False
        ),
    ] = None,
) -> None:
    """Delete what is known of a network. The next job on it measures it again."""
    if file is None:
        raise StrettoError("fabric forget: name a file of stretto fabric list, or say latest or all")
    deleted = forget(file, os.environ)
    print(*(f"deleted {path}" for path in deleted) if deleted else [nothing_text(os.environ)], sep="\n")
