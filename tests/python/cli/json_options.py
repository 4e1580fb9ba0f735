# SPDX-License-Identifier: Apache-2.0
"""The commands of a package, and whether each that prints a table has --json."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Collection, Iterator
from typing import Any

import typer
from typer.main import get_command

from stretto.cli.main import app
from stretto.cli.program import commands_of

from .reachable import CONSOLE, PRINTER, Definition, prints_plainly, reachable_from


def all_commands(package: str) -> Iterator[tuple[str, Any]]:
    """Yields the commands of `stretto` in a package, and of apps inside commands (simulate -- bench)."""
    for name, command in commands_of(get_command(app), "stretto"):
        if definition_of(command)[0].startswith(f"{package}."):
            yield name, command
    rooms = f"{package}.cli."
    for found in pkgutil.iter_modules(importlib.import_module(rooms[:-1]).__path__, rooms):
        for inner in vars(importlib.import_module(found.name)).values():
            if isinstance(inner, typer.Typer) and inner.registered_commands and not inner.registered_groups:
                of_app: Any = get_command(inner)
                if not hasattr(of_app, "commands"):
                    yield f"{found.name} -- {of_app.name}", of_app


def definition_of(command: Any) -> Definition:
    function = inspect.unwrap(command.callback)
    return (function.__module__, function.__name__)


def json_option(command: Any) -> Any:
    return next((one for one in command.params if "--json" in one.opts), None)


def complaint(start: Definition, name: str, option: Any, plain_ones: Collection[str] = ()) -> str:
    """What is wrong with a command, in words; empty if nothing is.

    `plain_ones`: commands that print no results.
    """
    reached = reachable_from(start)
    has_table = CONSOLE in reached
    plain = sorted(one for one in reached if one != PRINTER and prints_plainly(one))
    if option is None:
        if has_table:
            return "prints tables, and has no --json"
        if plain and name not in plain_ones:
            return f"prints by {plain}, and has no --json; give it one, or a reason in PLAIN"
        return ""
    if PRINTER not in reached:
        return "has --json, but does not print by print_result"
    return ""
