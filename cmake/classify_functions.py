# SPDX-License-Identifier: Apache-2.0
"""Writes the entries of MPI's functions that may wait, from preprocessed mpi.h and the table of classes.

    classify_functions.py TABLE OUTPUT HEADER...

A function that a header declares and the table does not know, of a newer MPI, gets no entry: a line on
standard error names it. It fails where the table names one twice, or headers declare one differently.
"""

import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

# Classes of which entries are made, and the macro of each (src/interpose/entries/blocking_entries.cpp).
MACROS = {
    "waits": "STRETTO_WAITS",
    "makes_persistent": "STRETTO_MAKES_PERSISTENT",
    "polls": "STRETTO_POLLS",
}
CLASSES = {"own", "local", *MACROS}


def read_table(text: str) -> dict[str, str]:
    """Returns the class of each name or pattern of the table."""
    classes: dict[str, str] = {}
    current = ""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words and words[0].startswith("["):
            current = words.pop(0).strip("[]")
            if current not in CLASSES:
                raise ValueError(f"there is no class '{current}'; take one of {', '.join(sorted(CLASSES))}")
        for name in words:
            if name in classes:
                raise ValueError(f"'{name}' stands in [{classes[name]}] and in [{current}]; leave one")
            classes[name] = current
    return classes


def read_functions(header: str) -> dict[str, int]:
    """Returns for each function that a preprocessed header declares how many arguments it takes."""
    header = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", header)
    functions: dict[str, int] = {}
    header = re.sub(r"\btypedef\b[^;{]*;", "", header)
    for match in re.finditer(r"\b(?:int|double|void|MPI_\w+)[\s*]+(MPIX?_\w+)\s*\(", header):
        depth, commas, end = 1, 0, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(header[end], 0)
            commas += header[end] == "," and depth == 1
            end += 1
        is_empty = header[match.end() : end - 1].strip() in ("", "void")
        functions[match.group(1)] = 0 if is_empty else commas + 1
    return functions


def find_class(name: str, classes: dict[str, str]) -> str | None:
    """Returns the class of a function by its name without MPI_; None if the table does not know it."""
    if name in classes:
        return classes[name]
    if name.endswith("_c") and classes.get(name[:-2], "own") != "own":
        return classes[name[:-2]]
    patterns = (pattern for pattern in classes if "*" in pattern)
    return next((classes[pattern] for pattern in patterns if fnmatchcase(name, pattern)), None)


def make_entries(functions: dict[str, int], classes: dict[str, str]) -> tuple[str, list[str]]:
    """Returns a line for each function that needs an entry, and the functions that are not known."""
    lines = ["// Made by cmake/classify_functions.py of mpi.h and src/interpose/entries/functions.txt."]
    unknown = []
    for function, count in sorted(functions.items()):
        kind = find_class(function.removeprefix("MPI_"), classes)
        if kind is None:
            unknown.append(function)
        elif kind in MACROS:
            words = [f"a{i}" for i in range(count)]
            parameters = ", ".join(f"Word {word}" for word in words)
            last = words[-1] if words else ""
            lines.append(f"{MACROS[kind]}({function}, ({parameters}), ({', '.join(words)}), {last})")
    return "\n".join(lines) + "\n", unknown


def main() -> None:
    """Reads TABLE and each HEADER, and writes OUTPUT if it changes."""
    table, output, *headers = map(Path, sys.argv[1:])
    try:
        functions: dict[str, int] = {}
        for header in headers:
            for name, count in read_functions(header.read_text()).items():
                if functions.setdefault(name, count) != count:
                    raise ValueError(f"{header} declares {name} with other arguments than another mpi.h")
        entries, unknown = make_entries(functions, read_table(table.read_text()))
    except ValueError as error:
        sys.exit(f"error: {table}: {error}")
    if unknown:
        print(
            f"{table} says nothing of {', '.join(unknown)}, which an mpi.h declares: calls are passed on "
            "without progress of what is outstanding; add each to its class",
            file=sys.stderr,
        )
    if not output.exists() or output.read_text() != entries:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(entries)


if __name__ == "__main__":
    main()
