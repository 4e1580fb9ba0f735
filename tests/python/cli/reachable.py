# SPDX-License-Identifier: Apache-2.0
"""Which definitions of the package a function can reach, by the names in their sources.

A method is reached with its class, and a class by its name. Objects that are passed along without a name are
not seen, so the result can lack calls of objects that other code made. It can also have too many
definitions, since a name that is mentioned counts as used.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

Definition = tuple[str, str]
"""A module and a name on its top level."""
PRINTER: Definition = ("stretto.support.console", "print_result")
CONSOLE: Definition = ("stretto.support.console", "standard_output")


@dataclass(frozen=True)
class _Module:
    bodies: dict[str, list[ast.stmt]]
    """The statements that define each name."""
    imports: dict[str, Definition | str]
    """A definition of another module, or a module."""


@cache
def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


@cache
def _read(name: str) -> _Module:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    if not spec.origin or not spec.origin.endswith(".py"):
        return _Module({}, {})
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    bodies: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for defined in _defined(statement):
            bodies.setdefault(defined, []).append(statement)
    imports: dict[str, Definition | str] = {}
    for node in ast.walk(tree):  # those inside functions, too
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stretto"):
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                imports[one.asname or one.name] = whole if _is_module(whole) else (str(node.module), one.name)
    return _Module(bodies, imports)


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    targets = (
        statement.targets
        if isinstance(statement, ast.Assign)
        else [statement.target]
        if isinstance(statement, ast.AnnAssign)
        else []
    )
    for target in targets:
        yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def _used(module: str, nodes: Iterable[ast.AST]) -> Iterator[Definition]:
    known = _read(module)
    for node in nodes:
        if isinstance(node, ast.Name):
            found = known.imports.get(node.id)
            if isinstance(found, tuple):
                yield found
            elif found is None and node.id in known.bodies:
                yield (module, node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of = known.imports.get(node.value.id)
            if isinstance(of, str):
                yield (of, node.attr)


def _nodes(definition: Definition) -> list[ast.AST]:
    bodies = _read(definition[0]).bodies.get(definition[1], [])
    return [node for body in bodies for node in ast.walk(body)]


@cache
def reachable_from(start: Definition) -> frozenset[Definition]:
    """Returns all definitions that one reaches, with itself, but without those that only PRINTER reaches."""
    found: set[Definition] = set()
    waiting = [start]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        if one != PRINTER:
            waiting += _used(one[0], _nodes(one))
    return frozenset(found)


def prints_plainly(definition: Definition) -> bool:
    """Whether it prints on standard output by itself, without a console."""
    return any(_prints(node) for node in _nodes(definition))


def _prints(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    keywords = {one.arg: ast.unparse(one.value) for one in node.keywords}
    called = ast.unparse(node.func)
    if called == "print":
        return keywords.get("file", "sys.stdout") == "sys.stdout"
    if called in ("typer.echo", "typer.secho"):
        return "err" not in keywords
    return called.startswith("sys.stdout.") and called != "sys.stdout.flush"


def consoles_on_standard_output(package: Path) -> Iterator[str]:
    """Yields the place of each call of Console without stderr=True, and each use of rich's own print."""
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            where = f"{file.relative_to(package)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.ImportFrom) and node.module == "rich":
                yield from (where for one in node.names if one.name in ("print", "print_json", "get_console"))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Console":
                yield from () if "stderr" in {one.arg for one in node.keywords} else (where,)
