# SPDX-License-Identifier: Apache-2.0
"""Makes the page of all lines with which a command ends in an error, from the sources."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "python" / "stretto", ROOT / "research" / "python" / "stretto_research")

_INTRODUCTION = """# Messages

Every line with which a `stretto` command ends in an error, by the part of the package that prints it. `…`
stands for what varies. Each line says what is wrong, where, and what to do.
[Troubleshooting](troubleshooting.md) explains the most frequent ones, and the lines that the library prints
in a job.
"""


def message_page() -> str:
    """Return the page as Markdown."""
    files = [(package, file) for package in PACKAGES for file in sorted(package.rglob("*.py"))]
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for _, file in files}
    errors = _errors(trees.values())
    rooms: dict[str, set[str]] = defaultdict(set)
    for package, file in files:
        rooms[file.relative_to(package).parts[0]].update(_messages(trees[file], errors))
    parts = [_INTRODUCTION]
    for room in sorted(room for room, messages in rooms.items() if messages):
        parts += [f"## {room.removesuffix('.py')}\n", *(f"- `{one}`" for one in sorted(rooms[room])), ""]
    return "\n".join(parts)


def _errors(trees: Iterable[ast.Module]) -> set[str]:
    """Return the names of StrettoError and of all its subclasses."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"StrettoError"}
    while more := {name for name, own in bases.items() if own & found} - found:
        found |= more
    return found


def _messages(tree: ast.Module, errors: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in errors:
            text = " ".join(_text(node.args[0]).split()) if node.args else ""
            if text.replace("…", "").strip(" :;,"):
                yield text.replace("`", "'")


def _text(node: ast.expr) -> str:
    """Return the text of an expression, with … for the parts that vary."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return "…"
